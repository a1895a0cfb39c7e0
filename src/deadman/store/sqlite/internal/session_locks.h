#pragma once
// SessionLocks: a lock file per session beside the database. The kernel drops the lock when the
// process dies and keeps it while the process is stopped: a free lock file is proof of death.
//
// Thread-safety: safe for concurrent use.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/domain/ids.h"
#include "deadman/platform/file_lock.h"

namespace deadman::store::sqlite {

class SessionLocks {
  public:
    explicit SessionLocks(const std::string& database_path);

    /// Held until release(), or until this object goes. Without one (read-only folder) the session
    /// lives by its lease alone.
    void hold(domain::SessionId session);

    /// Removes the file too. Does nothing for a session of another process.
    void release(domain::SessionId session);

    /// The lock of a session whose process is dead. Nothing: it lives, or nobody can tell.
    std::optional<platform::FileLock> take_if_dead(domain::SessionId session);

  private:
    std::string path_of(domain::SessionId session) const;

    const std::string folder_;
    std::mutex mutex_;
    std::map<domain::SessionId, platform::FileLock> held_; // guarded by mutex_
};

/// The sessions whose lock files beside the database are held by somebody.
std::vector<domain::SessionId> held_sessions(const std::string& database_path);

} // namespace deadman::store::sqlite
