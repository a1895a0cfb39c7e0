#pragma once
// A stream of jobs while another session's snapshot stays open, so that nothing that is deleted
// goes: is the end as fast as the start?

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

struct HorizonBench {
    int jobs = 500'000; // through, with each size of claim
    int payload_bytes = 100;
};

base::Result<Measurement> measure_horizon(const Bench& bench, const HorizonBench& options);

} // namespace deadman::bench
