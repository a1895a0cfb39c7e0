#pragma once
// EnqueueLoad: jobs put into a store from many threads of one process, each call acknowledged.
//
// Blocking:      until all are in.

#include <functional>
#include <string>
#include <vector>

#include "apps/deadman/bench/bench_jobs.h"
#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/job_store.h"

namespace deadman::bench {

struct EnqueueLoad {
    std::string queue;
    int jobs = 20'000;
    int threads = 16;
    int batch = 1; // jobs in a call
    int payload_bytes = 100;
    std::string kind = noop_kind;
    bool transactional = false;
};

struct EnqueueTimes {
    std::int64_t jobs = 0;
    base::TimePoint from;
    base::TimePoint to;
    std::vector<base::Duration> calls; // how long each took

    void merge(EnqueueTimes other);
};

base::Result<EnqueueTimes> run_enqueue_load(store::JobStore& store, base::Clock& clock,
                                            const EnqueueLoad& load);

/// One call after another, each by `send`, from `threads` threads; `send(thread, jobs)` puts so
/// many in.
using Send = std::function<base::Status(int thread, int jobs)>;
base::Result<EnqueueTimes> run_calls(base::Clock& clock, const EnqueueLoad& load, const Send& send);

} // namespace deadman::bench
