#include "apps/deadman/bench/enqueue_load.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace deadman::bench {

void EnqueueTimes::merge(EnqueueTimes other) {
    from = jobs == 0 ? other.from : std::min(from, other.from);
    to = jobs == 0 ? other.to : std::max(to, other.to);
    jobs += other.jobs;
    calls.insert(calls.end(), other.calls.begin(), other.calls.end());
}

base::Result<EnqueueTimes> run_calls(base::Clock& clock, const EnqueueLoad& load,
                                     const Send& send) {
    const auto count = static_cast<std::size_t>(load.threads);
    std::atomic<int> left{load.jobs};
    std::vector<std::vector<base::Duration>> calls(count);
    std::vector<base::Status> outcomes(count);
    std::vector<std::thread> threads;
    EnqueueTimes times{.jobs = load.jobs, .from = clock.now(), .to = {}, .calls = {}};
    const base::SteadyTime began = clock.steady_now();
    for (std::size_t index = 0; index < count; ++index)
        threads.emplace_back([&, index] {
            for (;;) {
                const int take = std::min(left.fetch_sub(load.batch), load.batch);
                if (take <= 0)
                    return;
                const base::SteadyTime before = clock.steady_now();
                outcomes[index] = send(static_cast<int>(index), take);
                if (!outcomes[index]) {
                    left = 0;
                    return;
                }
                calls[index].push_back(clock.steady_now() - before);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    times.to = times.from + (clock.steady_now() - began); // the wall clock may have stepped
    for (const base::Status& outcome : outcomes)
        DEADMAN_TRY_STATUS(outcome);
    for (const auto& some : calls)
        times.calls.insert(times.calls.end(), some.begin(), some.end());
    return times;
}

base::Result<EnqueueTimes> run_enqueue_load(store::JobStore& store, base::Clock& clock,
                                            const EnqueueLoad& load) {
    domain::JobSpec job = bench_job(load.kind.c_str(), load.queue, load.payload_bytes);
    job.transactional = load.transactional;
    const std::vector<domain::JobSpec> batch(static_cast<std::size_t>(load.batch), job);
    return run_calls(clock, load, [&](int, int jobs) -> base::Status {
        DEADMAN_TRY_STATUS(store.enqueue(std::span(batch).first(static_cast<std::size_t>(jobs))));
        return {};
    });
}

} // namespace deadman::bench
