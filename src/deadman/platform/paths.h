#pragma once
// Files and folders: temporary ones, whole files, the user's data folder.
//
// Thread-safety: free functions are safe for concurrent use; objects under external
// synchronization. Blocking:      waits for the disk. Errors:        not_found, already_exists;
// invalid_argument: not permitted; exhausted: disk full.

#include <cstddef>
#include <string>
#include <string_view>

#include "deadman/base/result.h"

namespace deadman::platform {

/// With its parents; what is new is for this user only. Nothing happens where it exists already.
base::Status create_directories(const std::string& path);

/// The file holds all of `contents` or what it held before, also after a power loss. New files are
/// for this user only.
base::Status write_file_atomically(const std::string& path, std::string_view contents);

/// Gives a finished file its name, which nothing has so far (else already_exists), in the same
/// folder. It is for this user only, and there also after a power loss. REQUIRES: nobody has the
/// file open.
base::Status publish_file(const std::string& draft, const std::string& name);

/// Refuses (exhausted) a file longer than `max_bytes`.
base::Result<std::string> read_file(const std::string& path, std::size_t max_bytes);

/// $TMPDIR, else /tmp.
std::string temporary_root();

/// $STATE_DIRECTORY (as systemd sets it), else $XDG_DATA_HOME/deadman, else ~/.local/share/deadman.
/// not_found where none of them can be told.
base::Result<std::string> default_data_directory();

/// A new folder for this user only, removed with all that is in it.
class TemporaryDirectory {
  public:
    static base::Result<TemporaryDirectory> create(std::string_view prefix);

    TemporaryDirectory(TemporaryDirectory&& other) noexcept;
    TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    ~TemporaryDirectory();

    const std::string& path() const {
        return path_;
    }

    /// Leaves the folder where it is.
    void keep();

  private:
    explicit TemporaryDirectory(std::string path);

    std::string path_;
};

/// A file that several processes append to. What append() returned from survives the death of the
/// process (not of the machine), and lines of several writers do not mix.
class AppendFile {
  public:
    static base::Result<AppendFile> open(const std::string& path);

    AppendFile(AppendFile&& other) noexcept;
    AppendFile& operator=(AppendFile&& other) noexcept;
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;
    ~AppendFile();

    /// Safe for concurrent use.
    base::Status append(std::string_view text) const;

  private:
    explicit AppendFile(int descriptor);

    int descriptor_ = -1;
};

} // namespace deadman::platform
