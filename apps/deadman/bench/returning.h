#pragma once
// How soon jobs that come back, retried or lapsed, start in front of a deep queue that is being
// drained.

#include "apps/deadman/bench/measurement.h"
#include "apps/deadman/bench/samples.h"

namespace deadman::bench {

struct Returns {
    Spread retried;                  // from the time that its backoff was over
    Spread lapsed;                   // from the commit that made it claimable again
    double bytes_a_finished_job = 0; // what ends have added to disk
};

/// REQUIRES: many jobs wait in the queue. Drains part of it.
base::Result<Returns> time_returns(const Bench& bench, const std::string& queue);

} // namespace deadman::bench
