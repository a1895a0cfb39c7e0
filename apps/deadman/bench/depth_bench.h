#pragma once
// What a claim costs with few and with very many waiting, how soon a job that comes back starts in
// front of all those, what statements read, and what a job costs on disk.

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

struct DepthBench {
    int jobs = 500'000; // waiting; a tenth as many are due later
    int claims = 100;   // timed at each depth
    int batch = 100;    // jobs in each
    int payload_bytes = 100;
};

base::Result<Measurement> measure_depth(const Bench& bench, const DepthBench& options);

} // namespace deadman::bench
