#include "apps/deadman/bench/drain_bench.h"

#include <format>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/internal/sql_session.h"
#include "apps/deadman/bench/samples.h"
#include "apps/deadman/bench/worker_group.h"

namespace deadman::bench {
namespace {

using base::ErrorCode;

base::Status make_effect_table(const BenchTarget& target) {
    DEADMAN_TRY(const auto sql, internal::open_sql_session(target.url()));
    return sql->run(
        std::format("create table if not exists {}(job bigint not null)", effect_table));
}

base::Status count_effects(const BenchTarget& target, int jobs) {
    DEADMAN_TRY(const auto sql, internal::open_sql_session(target.url()));
    DEADMAN_TRY(const double effects,
                sql->number(std::format("select count(*) from {}", effect_table)));
    DEADMAN_TRY_STATUS(sql->run(std::format("drop table {}", effect_table)));
    if (effects != jobs)
        return base::fail(ErrorCode::internal,
                          std::format("{} jobs left {} effects", jobs, effects));
    return {};
}

} // namespace

base::Result<Measurement> measure_drain(const Bench& bench, const DrainBench& options) {
    const std::string queue = new_queue();
    domain::JobSpec job =
        bench_job(options.transactional ? effect_kind : noop_kind, queue, options.payload_bytes);
    job.transactional = options.transactional;
    if (options.transactional)
        DEADMAN_TRY_STATUS(make_effect_table(bench.target));
    DEADMAN_TRY_STATUS(fill(bench, job, options.jobs));
    DEADMAN_TRY_STATUS(bench.target.settle());
    DEADMAN_TRY(const double log_before, log_bytes(bench.target));
    WorkerBrief brief;
    brief.queues = {queue};
    brief.slots = options.slots;
    brief.prefetch = options.prefetch;
    DEADMAN_TRY(const auto group,
                WorkerGroup::start(bench.target, bench.clock, brief, options.workers));
    DEADMAN_TRY_STATUS(group->wait_for(options.jobs, [&](std::int64_t ended) {
        bench.progress.show(std::format("drained {} of {}", thousands(static_cast<double>(ended)),
                                        thousands(options.jobs)));
    }));
    DEADMAN_TRY(const double log_after, log_bytes(bench.target));
    DEADMAN_TRY(const GroupReport report, group->finish());
    if (report.ended() != options.jobs)
        return base::fail(ErrorCode::internal,
                          std::format("{} runs ended of {} jobs", report.ended(), options.jobs));
    if (options.transactional)
        DEADMAN_TRY_STATUS(count_effects(bench.target, options.jobs));
    const double rate = per_second(options.jobs, report.duration());
    const double rss_mb = static_cast<double>(report.peak_rss_kb) / 1024;
    const double log_per_job = (log_after - log_before) / options.jobs;
    Measurement measured;
    measured.json.number("jobs", options.jobs)
        .number("workers", options.workers)
        .boolean("transactional", options.transactional)
        .number("payload_bytes", options.payload_bytes)
        .raw("seconds", decimal(seconds_of(report.duration()), 3))
        .raw("jobs_per_s", decimal(rate, 1))
        .raw("worker_peak_rss_mb", decimal(rss_mb, 1))
        .raw("log_bytes_per_job", decimal(log_per_job, 0));
    measured.line(std::format(
        "{} jobs/s ({} worker{}{}), worker at most {:.0f} MB{}", thousands(rate), options.workers,
        options.workers == 1 ? "" : "s",
        options.transactional ? ", an insert in each job's transaction" : "", rss_mb,
        log_per_job > 0 ? std::format(", {:.0f} bytes of log a job", log_per_job) : ""));
    return measured;
}

} // namespace deadman::bench
