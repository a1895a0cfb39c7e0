#pragma once
// How fast single jobs and batches go in, each acknowledged after its commit.

#include "apps/deadman/bench/enqueue_load.h"
#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

struct EnqueueBench {
    EnqueueLoad load;
    int processes = 0;    // 0: threads of this one
    int connections = 16; // of HTTP
    bool http = false;
};

base::Result<Measurement> measure_enqueue(const Bench& bench, EnqueueBench options);

/// Through a server of this binary, started for it: `connections` clients that keep theirs.
base::Result<EnqueueTimes> run_http_load(const Bench& bench, const EnqueueLoad& load);

} // namespace deadman::bench
