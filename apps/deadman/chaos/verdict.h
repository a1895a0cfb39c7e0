#pragma once
// The verdict on a run of the harness: what was asked for against what the tables hold. Pure.

#include <cstdint>
#include <map>
#include <vector>

#include "apps/deadman/chaos/probe.h"

namespace deadman::chaos {

struct Verdict {
    std::int64_t succeeded = 0;
    std::int64_t quarantined = 0;
    std::int64_t failed = 0;              // ended otherwise
    std::int64_t effects = 0;             // rows, of jobs of this run
    std::int64_t unfinished = 0;          // still in the store when the time was up
    std::vector<std::int64_t> lost;       // succeeded without an effect, or not ended, or gone
    std::vector<std::int64_t> duplicated; // more than one effect
    std::vector<std::int64_t> unearned;   // an effect although the job did not succeed
};

/// `jobs`: those whose enqueueing was acknowledged.
Verdict judge(const std::vector<std::int64_t>& jobs, const std::map<std::int64_t, JobEnd>& ends,
              const std::map<std::int64_t, std::int64_t>& effects);

} // namespace deadman::chaos
