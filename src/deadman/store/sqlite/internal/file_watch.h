#pragma once
// FileWatch: whether the paths still name the files that this process has open.
//
// Contract:      a database file, its log or its index that was moved, replaced or removed would
//                take what is written to where nobody looks for it. check() says so before, and
//                before the answer. Where the same files are back and nobody has written to the
//                database meanwhile, it is content again; else only a new start helps.
// Thread-safety: safe for concurrent use.
// Blocking:      three look-ups of a path, about 3 us.
// Errors:        unavailable, with what to do.

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "deadman/base/result.h"
#include "deadman/platform/file_identity.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

/// Where the file really is: processes that name it by different links share its lock files.
std::string real_path(const std::string& path);

class FileWatch {
  public:
    /// `named`: as the user names the database, perhaps by a link; `path`: where it really is.
    FileWatch(std::string named, const std::string& path);

    /// Refuses to make a new database where the log of one that is gone still lies.
    base::Status check_before_opening() const;

    /// The files as `connection` has them open. REQUIRES: it has read.
    base::Status remember(Connection& connection);

    base::Status check();

    /// One more connection to the same file. It never makes one.
    base::Result<std::unique_ptr<Connection>> open(const ConnectionOptions& options);

  private:
    struct Watched {
        std::string path;
        platform::FileIdentity identity;
    };

    base::Error moved(const Watched& watched, bool is_gone) const;

    std::mutex mutex_;
    std::array<Watched, 3> files_; // the database first; guarded by mutex_
    bool was_away_ = false;        // guarded by mutex_
};

} // namespace deadman::store::sqlite
