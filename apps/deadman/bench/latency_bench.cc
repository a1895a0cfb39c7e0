#include "apps/deadman/bench/latency_bench.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <map>
#include <mutex>
#include <thread>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/internal/sql_session.h"
#include "apps/deadman/bench/pacing.h"
#include "apps/deadman/bench/samples.h"
#include "apps/deadman/bench/worker_group.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr int senders = 4;
constexpr base::Duration settling = 1s; // of the idle system before
constexpr base::Duration straggling = 10s;
constexpr base::Duration between_transactions = 50ms;

/// When each job was sent; one that was sent in an open transaction: when its commit was.
class Sent {
  public:
    void note(std::int64_t number, base::TimePoint at) {
        const std::lock_guard lock(mutex_);
        at_us_[number] = base::to_micros(at);
    }

    std::map<std::int64_t, std::int64_t> take() {
        const std::lock_guard lock(mutex_);
        return std::move(at_us_);
    }

  private:
    std::mutex mutex_;
    std::map<std::int64_t, std::int64_t> at_us_; // guarded by mutex_
};

class Schedule {
  public:
    Schedule(const Bench& bench, const LatencyBench& options, std::string queue)
        : bench_(bench), options_(options), queue_(std::move(queue)),
          open_every_(options.open_transactions > 0
                          ? static_cast<int>(std::lround(1 / options.open_transactions))
                          : 0) {}

    base::Status run();

    std::map<std::int64_t, std::int64_t> plain;     // what was sent, and when
    std::map<std::int64_t, std::int64_t> committed; // ... in a transaction of its own

  private:
    bool is_open(int number) const {
        return open_every_ > 0 && number % open_every_ == open_every_ - 1;
    }

    base::SteadyTime moment(int number) const {
        return began_ + number * base::Duration(1s) / options_.rate;
    }

    domain::JobSpec job(int number, base::TimePoint at) const {
        domain::JobSpec spec = bench_job(timed_kind, queue_, 0);
        spec.payload = write_payload({.number = number, .sent_us = base::to_micros(at)},
                                     options_.payload_bytes);
        return spec;
    }

    base::Status send(int first, int step, Sent& sent);
    base::Status hold(internal::SqlSession& sql, int first, int step, Sent& sent);

    const Bench& bench_;
    const LatencyBench& options_;
    const std::string queue_;
    const int open_every_;
    base::SteadyTime began_;
};

base::Status Schedule::send(int first, int step, Sent& sent) {
    for (int number = first; number < options_.rate * options_.seconds; number += step) {
        if (is_open(number))
            continue;
        pause_until(bench_.clock, moment(number));
        const base::TimePoint now = bench_.clock.now();
        const domain::JobSpec spec = job(number, now);
        sent.note(number, now);
        DEADMAN_TRY_STATUS(bench_.target.store().enqueue(std::span(&spec, 1)));
    }
    return {};
}

base::Status Schedule::hold(internal::SqlSession& sql, int first, int step, Sent& sent) {
    int open = 0;
    for (int number = 0; number < options_.rate * options_.seconds; ++number) {
        if (!is_open(number) || open++ % step != first)
            continue;
        pause_until(bench_.clock, moment(number));
        const domain::JobSpec spec = job(number, bench_.clock.now());
        DEADMAN_TRY_STATUS(sql.run("begin"));
        DEADMAN_TRY_STATUS(sql.run(std::format("select deadman.enqueue('{}', '{}', queue => '{}')",
                                               timed_kind, spec.payload, queue_)));
        pause_until(bench_.clock, bench_.clock.steady_now() + options_.hold);
        sent.note(number, bench_.clock.now());
        DEADMAN_TRY_STATUS(sql.run("commit"));
    }
    return {};
}

base::Status Schedule::run() {
    Sent plain_sent;
    Sent held_sent;
    const int holders =
        open_every_ == 0
            ? 0
            : static_cast<int>(std::ceil(seconds_of(options_.hold + between_transactions) *
                                         options_.rate / open_every_)) +
                  1;
    std::vector<std::unique_ptr<internal::SqlSession>> sessions;
    for (int index = 0; index < holders; ++index) {
        DEADMAN_TRY(auto session, internal::open_sql_session(bench_.target.url()));
        sessions.push_back(std::move(session));
    }
    std::vector<base::Status> outcomes(static_cast<std::size_t>(senders + holders));
    std::vector<std::thread> threads;
    began_ = bench_.clock.steady_now();
    for (int index = 0; index < senders + holders; ++index)
        threads.emplace_back([&, index] {
            outcomes[static_cast<std::size_t>(index)] =
                index < senders ? send(index, senders, plain_sent)
                                : hold(*sessions[static_cast<std::size_t>(index - senders)],
                                       index - senders, holders, held_sent);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const base::Status& outcome : outcomes)
        DEADMAN_TRY_STATUS(outcome);
    plain = plain_sent.take();
    committed = held_sent.take();
    return {};
}

base::Result<std::vector<base::Duration>>
delays(const std::map<std::int64_t, std::int64_t>& sent,
       const std::map<std::int64_t, std::int64_t>& starts) {
    std::vector<base::Duration> found;
    for (const auto& [number, at] : sent) {
        const auto start = starts.find(number);
        if (start == starts.end())
            return base::fail(ErrorCode::internal, std::format("job {} never started", number));
        found.emplace_back(std::max<std::int64_t>(0, start->second - at));
    }
    return found;
}

} // namespace

base::Result<Measurement> measure_latency(const Bench& bench, const LatencyBench& options) {
    if (options.open_transactions > 0 && !bench.target.is_postgres())
        return base::fail(ErrorCode::invalid_argument,
                          "--open-transactions: only Postgres has transactions of applications");
    WorkerBrief brief;
    const std::string queue = new_queue();
    brief.queues = {queue};
    brief.tell_starts = true;
    DEADMAN_TRY(const auto group,
                WorkerGroup::start(bench.target, bench.clock, brief, options.workers));
    DEADMAN_TRY_STATUS(group->wait_until_ready());
    pause_until(bench.clock, bench.clock.steady_now() + settling);
    bench.progress.show(std::format("{} jobs a second for {} s", options.rate, options.seconds));
    DEADMAN_TRY(const auto probe, CommitProbe::start(bench.target, bench.clock));
    Schedule schedule(bench, options, queue);
    DEADMAN_TRY_STATUS(schedule.run());
    const Spread commit = spread_of(probe->finish());
    const std::size_t all = schedule.plain.size() + schedule.committed.size();
    const base::SteadyTime give_up = bench.clock.steady_now() + straggling;
    while (group->look().starts_us.size() < all && bench.clock.steady_now() < give_up)
        pause_until(bench.clock, bench.clock.steady_now() + 20ms);
    DEADMAN_TRY(const GroupReport report, group->finish());
    DEADMAN_TRY(auto plain, delays(schedule.plain, report.starts_us));
    DEADMAN_TRY(auto held, delays(schedule.committed, report.starts_us));
    const Spread latency = spread_of(std::move(plain));
    const Spread after_commit = spread_of(std::move(held));
    Measurement measured;
    measured.json.number("rate", options.rate)
        .number("seconds", options.seconds)
        .number("workers", options.workers)
        .raw("enqueue_to_start", spread_json(latency))
        .raw("commit", spread_json(commit));
    measured.line("enqueue to start:  " + spread_text(latency));
    if (after_commit.count > 0) {
        measured.json.raw("open_transactions", decimal(options.open_transactions, 3))
            .raw("hold_ms", decimal(seconds_of(options.hold) * 1000, 0))
            .raw("commit_to_start", spread_json(after_commit));
        measured.line("commit to start:   " + spread_text(after_commit) + ", held open");
    }
    measured.line("a bare commit:     " + spread_text(commit));
    return measured;
}

} // namespace deadman::bench
