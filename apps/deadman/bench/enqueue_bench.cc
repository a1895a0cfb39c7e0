#include "apps/deadman/bench/enqueue_bench.h"

#include <algorithm>
#include <format>

#include "apps/deadman/bench/part.h"
#include "apps/deadman/bench/samples.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr base::Duration start_notice = 500ms; // for the processes to start ...
constexpr base::Duration start_notice_each = 60ms;
constexpr int warm_up_calls = 4; // of each thread: its connection is there

base::Result<EnqueueTimes> run_processes(const Bench& bench, const EnqueueBench& options) {
    if (bench.target.is_private())
        return base::fail(ErrorCode::invalid_argument,
                          "--processes: memory: lives in one process only");
    const base::TimePoint start =
        bench.clock.now() + start_notice + options.processes * start_notice_each;
    std::vector<platform::ChildProcess> processes;
    for (int index = 0; index < options.processes; ++index) {
        EnqueueLoad share = options.load;
        share.threads = 1;
        share.jobs = std::max(1, options.load.jobs / options.processes);
        DEADMAN_TRY(auto process,
                    spawn_part(enqueue_arguments(bench.target.url(), share, start), true));
        processes.push_back(std::move(process));
    }
    EnqueueTimes all;
    for (platform::ChildProcess& process : processes) {
        DEADMAN_TRY(const std::string output, process.read_stdout());
        DEADMAN_TRY(EnqueueTimes times, read_enqueue_times(output));
        all.merge(std::move(times));
    }
    return all;
}

base::Result<EnqueueTimes> run_threads(const Bench& bench, const EnqueueLoad& load) {
    EnqueueLoad warm_up = load;
    warm_up.batch = 1;
    warm_up.jobs = warm_up_calls * load.threads;
    DEADMAN_TRY_STATUS(run_enqueue_load(bench.target.store(), bench.clock, warm_up));
    return run_enqueue_load(bench.target.store(), bench.clock, load);
}

std::string how(const EnqueueBench& options) {
    const std::string batch =
        options.load.batch > 1 ? std::format(", {} jobs a call", options.load.batch) : "";
    if (options.http)
        return std::format("HTTP, {} connections{}", options.connections, batch);
    if (options.processes > 0)
        return std::format("{} processes{}", options.processes, batch);
    return std::format("{} threads{}", options.load.threads, batch);
}

} // namespace

base::Result<Measurement> measure_enqueue(const Bench& bench, EnqueueBench options) {
    options.load.queue = new_queue();
    if (options.http)
        options.load.threads = options.connections;
    bench.progress.show("enqueueing " + thousands(options.load.jobs) + " jobs: " + how(options));
    const auto run = [&]() -> base::Result<EnqueueTimes> {
        if (options.http)
            return run_http_load(bench, options.load);
        if (options.processes > 0)
            return run_processes(bench, options);
        return run_threads(bench, options.load);
    };
    DEADMAN_TRY(const EnqueueTimes times, run());
    const base::Duration took = times.to - times.from;
    const double rate = per_second(static_cast<double>(times.jobs), took);
    const Spread calls = spread_of(times.calls);
    Measurement measured;
    measured.json
        .text("how", options.http            ? "http"
                     : options.processes > 0 ? "processes"
                                             : "threads")
        .number("clients", options.processes > 0 ? options.processes : options.load.threads)
        .number("batch", options.load.batch)
        .number("payload_bytes", options.load.payload_bytes)
        .number("jobs", times.jobs)
        .raw("seconds", decimal(seconds_of(took), 3))
        .raw("jobs_per_s", decimal(rate, 1))
        .raw("call", spread_json(calls));
    measured.line(std::format("{} jobs/s ({}; a call {})", thousands(rate), how(options),
                              spread_text(calls)));
    return measured;
}

} // namespace deadman::bench
