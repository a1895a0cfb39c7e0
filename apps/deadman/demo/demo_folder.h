#pragma once
// DemoFolder: where a demo keeps its data. An earlier demo's data is replaced; nothing else ever
// is.
//
// Ownership:     two demos cannot have one folder at the same time.
// Errors:        conflict: another demo uses it, or it holds something that is no demo's.

#include <optional>
#include <string>

#include "deadman/base/result.h"
#include "deadman/platform/file_lock.h"

namespace deadman::demo {

class DemoFolder {
  public:
    /// Makes the folder, or empties the one of an earlier demo.
    static base::Result<DemoFolder> take(const std::string& path);

    std::string store_path() const;
    std::string run_path() const;

  private:
    DemoFolder(std::string path, platform::FileLock lock);

    std::string path_;
    platform::FileLock lock_;
};

} // namespace deadman::demo
