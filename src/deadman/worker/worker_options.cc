#include "deadman/worker/worker_options.h"

#include <algorithm>
#include <thread>

#include "deadman/base/random.h"

namespace deadman::worker {

WorkerOptions resolved(WorkerOptions options) {
    if (options.slots <= 0)
        options.slots = static_cast<int>(2 * std::max(1U, std::thread::hardware_concurrency()));
    if (options.prefetch < 0)
        options.prefetch = 2 * options.slots;
    else
        options.prefetch_ahead = {};
    if (options.seed == 0)
        options.seed = base::random_seed();
    options.max_batch = std::max(1, options.max_batch);
    std::sort(options.kinds.begin(), options.kinds.end());
    return options;
}

store::SessionSpec session_spec(const WorkerOptions& options) {
    store::SessionSpec spec;
    spec.worker = options.name;
    spec.host = options.host;
    spec.pid = options.pid;
    spec.version = options.version;
    spec.queues = options.queues;
    spec.kinds = options.kinds;
    spec.solo_kinds = options.solo_kinds;
    spec.slots = options.slots;
    spec.terms = options.terms;
    return spec;
}

} // namespace deadman::worker
