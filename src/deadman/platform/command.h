#pragma once
// run_command: one child from start to end, its input fed and its output drained together.
//
// Contract:      ends within the bounds whatever the child does: one that reads nothing, writes
//                without end, ignores SIGTERM, or leaves a grandchild holding the pipe. When it
//                returns, nothing of the child's process group is alive.
// Thread-safety: safe for concurrent use.
// Blocking:      until the child has ended; bounded by the deadline, the stop token and the graces.
// Errors:        those of ChildProcess::spawn. A child that fails is an answer, not an error.
// Source:        cases C43 and C45.

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/process.h"

namespace deadman::platform {

struct CommandRequest {
    SpawnOptions spawn; // its streams are set by run_command
    std::string input;  // for the child's stdin
    std::stop_token stop;
    base::SteadyTime deadline = base::SteadyTime::max();
    base::Duration kill_grace = std::chrono::seconds(3);        // from SIGTERM to SIGKILL
    base::Duration pipe_grace = std::chrono::milliseconds(500); // for pipes that outlive the child
    // Kept of both streams together. Each has half of it, and what the other leaves free; of a
    // longer one head and tail are kept, and a line between them that says how much is missing.
    std::size_t max_output_bytes = 64 << 10;
};

enum class CommandEnd {
    exited,    // by itself
    timed_out, // the deadline passed; it was terminated
    stopped,   // the stop token fired; it was terminated
};

struct CommandResult {
    CommandEnd end = CommandEnd::exited;
    ExitStatus status;
    std::string output; // of stdout: whole, or head, a marker, and tail
    std::string error_output;
    bool truncated = false;
};

base::Result<CommandResult> run_command(const CommandRequest& request, const base::Clock& clock);

} // namespace deadman::platform
