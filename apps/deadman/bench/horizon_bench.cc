#include "apps/deadman/bench/horizon_bench.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <format>
#include <mutex>
#include <thread>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/direct_drain.h"
#include "apps/deadman/bench/internal/sql_session.h"
#include "apps/deadman/bench/pacing.h"
#include "apps/deadman/bench/samples.h"
#include "deadman/scheduler/upkeep.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr int feed_batch = 1'000;
constexpr base::Duration short_pause = 1ms;

/// How claims are made.
struct Shape {
    int claim = 1'000;
    int sessions = 2;
};

struct Point {
    base::SteadyTime at;
    std::int64_t ended = 0;
};

class Stream {
  public:
    Stream(const Bench& bench, const HorizonBench& options, const Shape& shape)
        : bench_(bench), options_(options), shape_(shape), queue_(new_queue()) {}

    base::Status run();

    /// Jobs a second while those from `from` to `to` ended.
    double rate(std::int64_t from, std::int64_t to) const;

  private:
    base::Status feed();
    base::Status drain();
    void note(std::int64_t ended);

    /// Small enough that the queue never gets deep, large enough that no claim comes back short.
    std::int64_t backlog() const {
        return std::max<std::int64_t>(5'000, 3LL * shape_.claim * shape_.sessions);
    }

    const Bench& bench_;
    const HorizonBench& options_;
    const Shape shape_;
    const std::string queue_;
    std::atomic<std::int64_t> ended_{0};
    std::atomic<bool> failed_{false};
    std::mutex mutex_;
    std::vector<Point> points_; // guarded by mutex_
};

void Stream::note(std::int64_t ended) {
    const std::lock_guard lock(mutex_);
    points_.push_back({.at = bench_.clock.steady_now(), .ended = ended_ += ended});
    bench_.progress.show(std::format("claims of {}: {} of {}", shape_.claim,
                                     thousands(static_cast<double>(ended_)),
                                     thousands(options_.jobs)));
}

base::Status Stream::feed() {
    const std::vector<domain::JobSpec> batch(feed_batch,
                                             bench_job(noop_kind, queue_, options_.payload_bytes));
    for (std::int64_t sent = 0; sent < options_.jobs && !failed_;) {
        if (sent - ended_ > backlog()) {
            pause_until(bench_.clock, bench_.clock.steady_now() + short_pause);
            continue;
        }
        const std::int64_t take = std::min<std::int64_t>(feed_batch, options_.jobs - sent);
        DEADMAN_TRY_STATUS(
            bench_.target.store().enqueue(std::span(batch).first(static_cast<std::size_t>(take))));
        sent += take;
    }
    return {};
}

base::Status Stream::drain() {
    DirectDrain drain(bench_.target.store(), bench_.clock, queue_, shape_.claim);
    DEADMAN_TRY_STATUS(drain.open());
    while (ended_ < options_.jobs && !failed_) {
        DEADMAN_TRY(const std::int64_t ended, drain.step());
        if (ended > 0)
            note(ended);
        else
            pause_until(bench_.clock, bench_.clock.steady_now() + short_pause);
    }
    return drain.close();
}

base::Status Stream::run() {
    std::vector<base::Status> outcomes(static_cast<std::size_t>(shape_.sessions) + 1);
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < outcomes.size(); ++index)
        threads.emplace_back([&, index] {
            outcomes[index] = index == 0 ? feed() : drain();
            if (!outcomes[index])
                failed_ = true;
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const base::Status& outcome : outcomes)
        DEADMAN_TRY_STATUS(outcome);
    if (ended_ != options_.jobs)
        return base::fail(ErrorCode::internal,
                          std::format("{} runs ended of {} jobs", ended_.load(), options_.jobs));
    return {};
}

double Stream::rate(std::int64_t from, std::int64_t to) const {
    const auto reached = [this](std::int64_t count) {
        return std::find_if(points_.begin(), points_.end(),
                            [count](const Point& point) { return point.ended >= count; });
    };
    const auto first = reached(from);
    const auto last = reached(to);
    if (first == points_.end() || last == points_.end())
        return 0;
    return per_second(static_cast<double>(last->ended - first->ended), last->at - first->at);
}

/// Lives with a snapshot that is never given up.
base::Result<std::unique_ptr<internal::SqlSession>> pin_snapshot(const BenchTarget& target) {
    DEADMAN_TRY(auto sql, internal::open_sql_session(target.url()));
    if (target.is_postgres()) {
        DEADMAN_TRY_STATUS(sql->run("begin isolation level repeatable read"));
        DEADMAN_TRY_STATUS(sql->run("select count(*) from pg_class"));
    } else {
        DEADMAN_TRY_STATUS(sql->run("begin"));
        DEADMAN_TRY_STATUS(sql->run("select count(*) from deadman_queue"));
    }
    return sql;
}

class UpkeepThread {
  public:
    explicit UpkeepThread(const Bench& bench)
        : upkeep_({}, {.store = bench.target.store(), .clock = bench.clock}),
          thread_([this] { upkeep_.run(); }) {}

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

} // namespace

base::Result<Measurement> measure_horizon(const Bench& bench, const HorizonBench& options) {
    const UpkeepThread upkeep(bench);
    DEADMAN_TRY(const auto pinned, pin_snapshot(bench.target));
    constexpr std::array shapes{Shape{.claim = 1'000, .sessions = 2},
                                Shape{.claim = 50, .sessions = 4}};
    Measurement measured;
    cli::JsonArray runs;
    double worst = 0;
    for (const Shape& shape : shapes) {
        Stream stream(bench, options, shape);
        DEADMAN_TRY_STATUS(stream.run());
        const std::int64_t tenth = options.jobs / 10;
        const double start = stream.rate(options.jobs / 100, options.jobs / 100 + tenth);
        const double end = stream.rate(options.jobs - tenth, options.jobs);
        const double ratio = start > 0 ? end / start : 0;
        worst = runs.str() == "[]" ? ratio : std::min(worst, ratio);
        runs.raw(cli::JsonObject()
                     .number("claim", shape.claim)
                     .number("sessions", shape.sessions)
                     .raw("start_per_s", decimal(start, 0))
                     .raw("end_per_s", decimal(end, 0))
                     .raw("end_over_start", decimal(ratio, 3))
                     .str());
        measured.line(std::format("claims of {}, {} jobs under one snapshot: {} jobs/s at the "
                                  "start, {} at the end",
                                  shape.claim, thousands(options.jobs), thousands(start),
                                  thousands(end)));
    }
    measured.json.number("jobs", options.jobs)
        .raw("runs", runs.str())
        .raw("end_over_start", decimal(worst, 3));
    measured.line(std::format("end_over_start {:.2f}", worst));
    return measured;
}

} // namespace deadman::bench
