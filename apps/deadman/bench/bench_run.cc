#include "apps/deadman/bench/bench_run.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <format>
#include <memory>
#include <mutex>
#include <thread>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/direct_drain.h"
#include "deadman/base/random.h"
#include "deadman/platform/process.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/worker/worker.h"

namespace deadman::cli {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr base::Duration patience = 60s; // without any job moving
constexpr const char* kind = bench::noop_kind;

/// How many jobs have ended, for whoever waits for all of them.
class Finished {
  public:
    Finished(base::Clock& clock, std::int64_t wanted) : clock_(clock), wanted_(wanted) {}

    void add(std::int64_t jobs) {
        const std::lock_guard lock(mutex_);
        count_ += jobs;
        at_ = clock_.steady_now();
        changed_.notify_all();
    }

    bool complete() const {
        const std::lock_guard lock(mutex_);
        return count_ >= wanted_;
    }

    /// When the last one ended; an error when nothing moves any more, or more have ended than there
    /// were.
    base::Result<base::SteadyTime> wait() {
        std::unique_lock lock(mutex_);
        while (count_ < wanted_) {
            const std::int64_t before = count_;
            if (!clock_.wait_until(lock, changed_, clock_.steady_now() + patience,
                                   [&] { return count_ != before; }))
                return base::fail(
                    ErrorCode::internal,
                    std::format("{} of {} jobs ended, then none for a minute", count_, wanted_));
        }
        if (count_ > wanted_)
            return base::fail(ErrorCode::internal,
                              std::format("{} jobs ended of {}", count_, wanted_));
        return at_;
    }

  private:
    base::Clock& clock_;
    const std::int64_t wanted_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t count_ = 0; // guarded by mutex_
    base::SteadyTime at_;    // guarded by mutex_
};

class UpkeepThread {
  public:
    UpkeepThread(store::JobStore& store, base::Clock& clock)
        : upkeep_({}, {.store = store, .clock = clock}), thread_([this] { upkeep_.run(); }) {}

    ~UpkeepThread() {
        upkeep_.stop();
        thread_.join();
    }

    UpkeepThread(const UpkeepThread&) = delete;
    UpkeepThread& operator=(const UpkeepThread&) = delete;

  private:
    scheduler::Upkeep upkeep_;
    std::thread thread_;
};

base::Result<base::Duration> enqueue_all(store::JobStore& store, base::Clock& clock,
                                         const BenchOptions& options, const std::string& queue) {
    domain::JobSpec spec;
    spec.kind = kind;
    spec.queue = queue;
    const base::SteadyTime began = clock.steady_now();
    for (int left = options.jobs; left > 0; left -= options.batch) {
        const std::vector<domain::JobSpec> specs(
            static_cast<std::size_t>(std::min(left, options.batch)), spec);
        DEADMAN_TRY_STATUS(store.enqueue(specs));
    }
    return clock.steady_now() - began;
}

/// Until all have ended.
base::Status run_to_the_end(bench::DirectDrain& drain, store::JobStore& store, Finished& finished) {
    while (!finished.complete()) {
        DEADMAN_TRY(const std::int64_t ended, drain.step());
        if (ended == 0)
            store.wait_for_work(drain.queues(), 20ms);
        else
            finished.add(ended);
    }
    return drain.close();
}

base::Result<base::Duration> drain_directly(store::JobStore& store, base::Clock& clock,
                                            const BenchOptions& options, const std::string& queue) {
    std::vector<std::unique_ptr<bench::DirectDrain>> drains;
    for (int thread = 0; thread < options.threads; ++thread) {
        drains.push_back(std::make_unique<bench::DirectDrain>(store, clock, queue, options.batch));
        DEADMAN_TRY_STATUS(drains.back()->open());
    }
    Finished finished(clock, options.jobs);
    std::vector<base::Status> outcomes(drains.size());
    std::vector<std::thread> threads;
    const base::SteadyTime began = clock.steady_now();
    for (std::size_t index = 0; index < drains.size(); ++index)
        threads.emplace_back(
            [&, index] { outcomes[index] = run_to_the_end(*drains[index], store, finished); });
    for (std::thread& thread : threads)
        thread.join();
    for (const base::Status& outcome : outcomes)
        DEADMAN_TRY_STATUS(outcome);
    DEADMAN_TRY(const base::SteadyTime ended, finished.wait());
    return ended - began;
}

/// Counts what the store has recorded as ended.
class CountEnds final : public worker::WorkerObserver {
  public:
    explicit CountEnds(Finished& finished) : finished_(finished) {}

    void on_finish(const worker::Report& report) override {
        if (report.verdict == domain::Verdict::ok)
            finished_.add(1);
    }

  private:
    Finished& finished_;
};

std::unique_ptr<worker::Worker> make_worker(store::JobStore& store, base::Clock& clock,
                                            const BenchOptions& options, const std::string& queue,
                                            worker::WorkerObserver& observer) {
    worker::WorkerOptions worker;
    worker.name = "bench";
    worker.host = platform::host_name();
    worker.pid = platform::current_pid();
    worker.version = DEADMAN_VERSION;
    worker.queues = {queue};
    worker.slots = options.slots;
    worker.prefetch = options.prefetch;
    worker::HandlerRegistry handlers;
    handlers.add(kind, [](worker::RunContext&) { return domain::Answer{}; });
    return std::make_unique<worker::Worker>(worker, std::move(handlers),
                                            worker::WorkerSurroundings{.store = store,
                                                                       .clock = clock,
                                                                       .log = nullptr,
                                                                       .observer = &observer,
                                                                       .leave_process = nullptr});
}

base::Result<base::Duration> drain_by_workers(store::JobStore& store, base::Clock& clock,
                                              const BenchOptions& options,
                                              const std::string& queue) {
    Finished finished(clock, options.jobs);
    CountEnds observer(finished);
    std::vector<std::unique_ptr<worker::Worker>> workers;
    std::vector<std::thread> threads;
    const base::SteadyTime began = clock.steady_now();
    for (int index = 0; index < options.workers; ++index) {
        workers.push_back(make_worker(store, clock, options, queue, observer));
        threads.emplace_back([worker = workers.back().get()] { worker->run(); });
    }
    const auto ended = finished.wait();
    for (const auto& worker : workers)
        worker->drain();
    for (std::thread& thread : threads)
        thread.join();
    if (!ended)
        return ended.error();
    return *ended - began;
}

} // namespace

base::Result<BenchResult> run_bench(store::JobStore& store, base::Clock& clock,
                                    const BenchOptions& options) {
    const UpkeepThread upkeep(store, clock);
    const std::string queue = "bench-" + base::random_hex(6);
    BenchResult result;
    DEADMAN_TRY(const base::Duration first, enqueue_all(store, clock, options, queue));
    DEADMAN_TRY(result.direct_drain, drain_directly(store, clock, options, queue));
    DEADMAN_TRY(const base::Duration second, enqueue_all(store, clock, options, queue));
    DEADMAN_TRY(result.worker_drain, drain_by_workers(store, clock, options, queue));
    result.enqueue = (first + second) / 2;
    return result;
}

} // namespace deadman::cli
