#pragma once
// Everything at once: a steady stream into three queues with priorities, delays, retries and
// snoozes, and workers that drain it.

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

struct MixedBench {
    int rate = 2'000; // jobs a second
    int seconds = 10;
    int workers = 1;
    int payload_bytes = 100;
    std::uint64_t seed = 1;
};

base::Result<Measurement> measure_mixed(const Bench& bench, const MixedBench& options);

} // namespace deadman::bench
