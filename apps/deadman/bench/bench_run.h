#pragma once
// BenchRun: jobs that do nothing, through one store: how fast they go in, and come out again by the
// store's batches alone and by whole workers.
//
// Blocking:      for as long as it takes; an error once nothing has moved for a minute.
// Errors:        internal: a job was lost or counted twice.

#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/job_store.h"

namespace deadman::cli {

struct BenchOptions {
    int jobs = 100'000;
    int batch = 1'000; // of enqueues, and of claims of the direct drain
    int threads = 2;   // of the direct drain, with a session each
    int workers = 1;   // of the other
    int slots = 0;     // of each; 0: twice the cores
    int prefetch = 2'000;
};

struct BenchResult {
    base::Duration enqueue{}; // once for each drain: the mean of the two
    base::Duration direct_drain{};
    base::Duration worker_drain{};
};

base::Result<BenchResult> run_bench(store::JobStore& store, base::Clock& clock,
                                    const BenchOptions& options);

} // namespace deadman::cli
