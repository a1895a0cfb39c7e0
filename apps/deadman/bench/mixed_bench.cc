#include "apps/deadman/bench/mixed_bench.h"

#include <algorithm>
#include <format>
#include <map>
#include <thread>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/pacing.h"
#include "apps/deadman/bench/samples.h"
#include "apps/deadman/bench/worker_group.h"
#include "deadman/base/random.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr int queue_count = 3;
constexpr int senders = 8;
constexpr double retries = 0.05;
constexpr double snoozes = 0.05;
constexpr double delays = 0.10;
constexpr base::Duration delay = 1s;

struct Planned {
    domain::JobSpec spec;
    Turn turn = Turn::none;
};

std::vector<Planned> plan(const MixedBench& options, const std::vector<std::string>& queues) {
    base::Random random(options.seed);
    std::vector<Planned> jobs;
    for (int number = 0; number < options.rate * options.seconds; ++number) {
        Planned job;
        job.spec = bench_job(mixed_kind, queues[random.below(queue_count)], 0);
        job.spec.priority = static_cast<int>(random.below(domain::max_priority + 1));
        if (random.chance(retries))
            job.turn = Turn::retry;
        else if (random.chance(snoozes))
            job.turn = Turn::snooze;
        if (random.chance(delays))
            job.spec.delay = delay;
        jobs.push_back(std::move(job));
    }
    return jobs;
}

/// Sends every `senders`-th job at its time. `due_us`: when each may start.
base::Status send(const Bench& bench, const MixedBench& options, std::vector<Planned>& jobs,
                  int first, base::SteadyTime began, std::vector<std::int64_t>& due_us) {
    for (std::size_t number = static_cast<std::size_t>(first); number < jobs.size();
         number += senders) {
        pause_until(bench.clock,
                    began + static_cast<std::int64_t>(number) * base::Duration(1s) / options.rate);
        domain::JobSpec& spec = jobs[number].spec;
        due_us[number] = base::to_micros(bench.clock.now() + spec.delay.value_or(base::Duration{}));
        spec.payload = write_payload({.number = static_cast<std::int64_t>(number),
                                      .sent_us = due_us[number],
                                      .turn = jobs[number].turn},
                                     options.payload_bytes);
        DEADMAN_TRY_STATUS(bench.target.store().enqueue(std::span(&spec, 1)));
    }
    return {};
}

base::Status send_all(const Bench& bench, const MixedBench& options, std::vector<Planned>& jobs,
                      std::vector<std::int64_t>& due_us) {
    std::vector<base::Status> outcomes(senders);
    std::vector<std::thread> threads;
    const base::SteadyTime began = bench.clock.steady_now();
    for (int index = 0; index < senders; ++index)
        threads.emplace_back([&, index] {
            outcomes[static_cast<std::size_t>(index)] =
                send(bench, options, jobs, index, began, due_us);
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const base::Status& outcome : outcomes)
        DEADMAN_TRY_STATUS(outcome);
    return {};
}

} // namespace

base::Result<Measurement> measure_mixed(const Bench& bench, const MixedBench& options) {
    WorkerBrief brief;
    for (int index = 0; index < queue_count; ++index)
        brief.queues.push_back(new_queue());
    brief.tell_starts = true;
    DEADMAN_TRY(const auto group,
                WorkerGroup::start(bench.target, bench.clock, brief, options.workers));
    DEADMAN_TRY_STATUS(group->wait_until_ready());
    std::vector<Planned> jobs = plan(options, brief.queues);
    std::vector<std::int64_t> due_us(jobs.size());
    const std::int64_t began_us = base::to_micros(bench.clock.now());
    bench.progress.show(std::format("{} jobs a second for {} s", options.rate, options.seconds));
    DEADMAN_TRY_STATUS(send_all(bench, options, jobs, due_us));
    const std::int64_t sent_us = base::to_micros(bench.clock.now());
    DEADMAN_TRY_STATUS(
        group->wait_for(static_cast<std::int64_t>(jobs.size()), [&](std::int64_t ended) {
            bench.progress.show(std::format("{} of {}", thousands(static_cast<double>(ended)),
                                            thousands(static_cast<double>(jobs.size()))));
        }));
    DEADMAN_TRY(const GroupReport report, group->finish());
    std::vector<base::Duration> waits;
    for (std::size_t number = 0; number < jobs.size(); ++number) {
        const auto start = report.starts_us.find(static_cast<std::int64_t>(number));
        if (start == report.starts_us.end())
            return base::fail(ErrorCode::internal, std::format("job {} never started", number));
        waits.emplace_back(std::max<std::int64_t>(0, start->second - due_us[number]));
    }
    const Spread wait = spread_of(std::move(waits));
    const auto all = static_cast<double>(jobs.size());
    const double sent = per_second(all, base::Duration{sent_us - began_us});
    const double ended = per_second(all, base::Duration{report.history.back().at_us - began_us});
    Measurement measured;
    measured.json.number("rate", options.rate)
        .number("seconds", options.seconds)
        .number("workers", options.workers)
        .number("seed", options.seed)
        .number("jobs", jobs.size())
        .raw("enqueued_per_s", decimal(sent, 1))
        .raw("ended_per_s", decimal(ended, 1))
        .raw("due_to_start", spread_json(wait));
    measured.line(std::format("{} jobs/s in, {} jobs/s ended; due to start {}", thousands(sent),
                              thousands(ended), spread_text(wait)));
    return measured;
}

} // namespace deadman::bench
