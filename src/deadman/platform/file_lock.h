#pragma once
// FileLock: an exclusive lock on a file that the kernel drops when its process dies, and keeps while
// the process is merely stopped. Not inherited by child processes that exec.
//
// Thread-safety: external synchronization.

#include <optional>
#include <string>

#include "deadman/base/result.h"

namespace deadman::platform {

class FileLock {
  public:
    /// Creates the file if need be. Nothing where another open lock (of any process, or this one)
    /// holds it.
    static base::Result<std::optional<FileLock>> try_acquire(const std::string& path);

    FileLock(FileLock&& other) noexcept;
    FileLock& operator=(FileLock&& other) noexcept;
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// Releases the lock; the file stays.
    ~FileLock();

    /// Removes the file while the lock is held, then releases it.
    void remove_and_release();

  private:
    FileLock(int descriptor, std::string path);

    int descriptor_ = -1;
    std::string path_;
};

/// The boot of this machine, or empty where the system does not tell: processes of another boot are
/// dead.
std::string boot_id();

} // namespace deadman::platform
