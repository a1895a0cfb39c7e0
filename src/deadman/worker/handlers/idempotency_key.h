#pragma once
// The key that a handler hands on: the same for every run of a job, another for every other job.

#include <string>

#include "deadman/domain/ids.h"

namespace deadman::worker {

inline std::string idempotency_key(domain::JobId job) {
    return "deadman-job-" + std::to_string(job.value);
}

} // namespace deadman::worker
