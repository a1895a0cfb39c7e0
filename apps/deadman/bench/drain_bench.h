#pragma once
// How fast whole workers drain a queue of jobs that do nothing, or one insert each.

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

struct DrainBench {
    int jobs = 100'000;
    int workers = 1;
    int slots = 0;
    int prefetch = -1;
    int payload_bytes = 100;
    bool transactional = false;
};

base::Result<Measurement> measure_drain(const Bench& bench, const DrainBench& options);

} // namespace deadman::bench
