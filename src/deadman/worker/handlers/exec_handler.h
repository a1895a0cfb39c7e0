#pragma once
// The exec handler: a command that the operator declared, run once per run of a job.
//
// Contract:      the payload goes to stdin; DEADMAN_JOB_ID, DEADMAN_FENCE, DEADMAN_RUN_KEY,
//                DEADMAN_ATTEMPT, DEADMAN_KIND, DEADMAN_QUEUE, DEADMAN_IDEMPOTENCY_KEY and, where
//                there is a deadline, DEADMAN_DEADLINE (RFC 3339) to the environment. Exit 0: done,
//                and its output is kept as the result; of any other end, with the run's message.
//                85: snooze, for the duration in the last line of stdout, else one
//                minute. 65: failed for good. Anything else, or a signal: failed, to be retried. An
//                effect of the command may happen more than once: the key and the fence are what it
//                can prevent that with.
// Thread-safety: the handler may run many times at once.
// Source:        cases C22, C23, C43, C45.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/worker/handler.h"

namespace deadman::worker {

struct ExecOptions {
    std::vector<std::string> command;
    std::optional<base::Duration> timeout; // of the command; the job's own counts too
    std::string working_directory;
    std::map<std::string, std::string> environment;
    base::Duration kill_grace = std::chrono::seconds(3);
    std::size_t max_output_bytes = 64 << 10; // kept of stdout and stderr together
};

/// `clock` must outlive the handler.
Handler make_exec_handler(ExecOptions options, const base::Clock& clock);

} // namespace deadman::worker
