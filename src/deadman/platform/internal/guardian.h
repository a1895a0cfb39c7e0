#pragma once
// Guardian: a small process that outlives this one for a moment, and ends its children.
//
// It is a shell of about one megabyte, one for all children of this process, started with the
// first. It reads the names of process groups from a socket whose other end only this process has.
// When this process dies, however it dies, the socket ends and the guardian kills what has been
// named. A death signal (PR_SET_PDEATHSIG) would not do: it follows the thread that forked, and
// grandchildren do not inherit it.
//
// Thread-safety: safe for concurrent use.
// Source:        PROTOCOL S4 as docs/ARCHITECTURE.md tells it; DECISIONS 026.

#include <mutex>
#include <set>
#include <string>

#include "deadman/base/result.h"
#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/launch.h"

namespace deadman::platform::internal {

class Guardian {
  public:
    /// One a process, because it is the process whose death matters.
    static Guardian& of_this_process();

    /// Launches a child that the guardian knows of before the child's program runs.
    base::Result<pid_t> launch_guarded(LaunchPlan plan);

    /// To be called before the child is reaped: afterwards its number may be another's.
    void forget(pid_t pid, bool group);

    /// Whether `pid` is a guarded child that has not been forgotten, or the guardian itself.
    bool knows(pid_t pid);

  private:
    Guardian() = default;

    base::Status ensure_running();
    void stop();

    std::mutex mutex_;
    OwnedDescriptor socket_;
    pid_t pid_ = -1;
    std::set<std::string> targets_;
};

} // namespace deadman::platform::internal
