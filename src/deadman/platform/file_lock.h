#pragma once
// FileLock: an exclusive lock on a file that the kernel drops when its process dies, and keeps
// while the process is merely stopped. Not inherited by child processes that exec.
//
// Thread-safety: external synchronization.

#include <cstdint>
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

/// The process that holds a byte-range lock (POSIX, as SQLite takes them) over `offset` of the
/// file, where the system tells. It opens nothing: closing a file drops every such lock that a
/// process has on it.
std::optional<int> byte_lock_holder(const std::string& path, std::uint64_t offset);

/// Whether the file, or the folder that it would be in, is on a file system of another machine,
/// where locks and shared memory cannot be trusted.
bool is_on_network_file_system(const std::string& path);

/// The boot of this machine, or empty where the system does not tell: processes of another boot are
/// dead.
std::string boot_id();

} // namespace deadman::platform
