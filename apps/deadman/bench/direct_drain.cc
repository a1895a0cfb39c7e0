#include "apps/deadman/bench/direct_drain.h"

#include <algorithm>

#include "apps/deadman/bench/bench_jobs.h"
#include "deadman/platform/process.h"

namespace deadman::bench {

store::SessionSpec direct_session(const std::string& queue) {
    store::SessionSpec spec;
    spec.worker = "bench";
    spec.host = platform::host_name();
    spec.pid = platform::current_pid();
    spec.version = DEADMAN_VERSION;
    spec.queues = {queue};
    spec.kinds = {noop_kind, timed_kind, effect_kind, mixed_kind};
    return spec;
}

base::Status DirectDrain::open() {
    DEADMAN_TRY(session_, store_.register_session(direct_session(queues_.front())));
    renewed_ = clock_.steady_now();
    return {};
}

base::Result<std::int64_t> DirectDrain::step() {
    DEADMAN_TRY_STATUS(renew());
    const base::SteadyTime before = clock_.steady_now();
    DEADMAN_TRY(
        const auto claimed,
        store_.claim(session_.key, {.claim_no = ++claim_no_, .queues = queues_, .max = batch_}));
    last_claim_ = clock_.steady_now() - before;
    if (claimed.empty())
        return 0;
    std::vector<store::RunEnd> ends;
    ends.reserve(claimed.size());
    for (const store::Claimed& job : claimed)
        ends.push_back({.run = job.run, .answer = {}});
    DEADMAN_TRY(const auto verdicts, store_.complete(session_.key, ends));
    return std::count(verdicts.begin(), verdicts.end(), domain::Verdict::ok);
}

base::Status DirectDrain::close() {
    return store_.end_session(session_.key, "done");
}

base::Status DirectDrain::renew() {
    const base::SteadyTime now = clock_.steady_now();
    if (now - renewed_ < session_.renew_every)
        return {};
    renewed_ = now;
    DEADMAN_TRY_STATUS(store_.renew(session_.key, {}));
    return {};
}

} // namespace deadman::bench
