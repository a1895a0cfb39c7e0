#include "apps/deadman/bench/plans.h"

#include <algorithm>
#include <format>
#include <set>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/direct_drain.h"
#include "apps/deadman/bench/internal/sql_session.h"
#include "apps/deadman/bench/pacing.h"
#include "apps/deadman/bench/samples.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;

constexpr int warm_up = 8;             // steps: plans are generic by then
constexpr base::Duration log_lag = 1s; // until the server has written its log
constexpr double rows_over_batch = 2;
constexpr const char* large_tables = "select relname from pg_class where relnamespace = "
                                     "'deadman'::regnamespace and reltuples > 1000";

constexpr const char* explain_on =
    "alter role current_user set session_preload_libraries = 'auto_explain';"
    "alter role current_user set auto_explain.log_min_duration = 0;"
    "alter role current_user set auto_explain.log_nested_statements = on;"
    "alter role current_user set auto_explain.log_analyze = on;"
    "alter role current_user set auto_explain.log_timing = off;"
    "alter role current_user set auto_explain.log_format = 'json'";
constexpr const char* explain_off = "alter role current_user reset all";

/// A claim and its completion, one job enqueued and a batch of them.
base::Status exercise(store::JobStore& store, DirectDrain& drain, const std::string& queue,
                      int batch) {
    DEADMAN_TRY_STATUS(drain.step());
    const std::vector<domain::JobSpec> jobs(static_cast<std::size_t>(batch),
                                            bench_job(noop_kind, queue, 0));
    DEADMAN_TRY_STATUS(store.enqueue(std::span(jobs).first(1)));
    DEADMAN_TRY_STATUS(store.enqueue(jobs));
    return {};
}

/// The log that the server writes meanwhile.
base::Result<std::string> explained(const Bench& bench, internal::SqlSession& sql,
                                    const std::string& queue, int batch) {
    DEADMAN_TRY_STATUS(sql.run(explain_on));
    auto log = [&]() -> base::Result<std::string> {
        DEADMAN_TRY(const auto store, open_store(bench.target.url(), bench.clock));
        DirectDrain drain(*store, bench.clock, queue, batch);
        DEADMAN_TRY_STATUS(drain.open());
        for (int step = 0; step < warm_up; ++step)
            DEADMAN_TRY_STATUS(drain.step());
        pause_until(bench.clock, bench.clock.steady_now() + log_lag);
        DEADMAN_TRY(const std::string from,
                    sql.text("select size from pg_stat_file(pg_current_logfile())"));
        DEADMAN_TRY_STATUS(exercise(*store, drain, queue, batch));
        pause_until(bench.clock, bench.clock.steady_now() + log_lag);
        DEADMAN_TRY_STATUS(drain.close());
        return sql.text(
            std::format("select pg_read_file(pg_current_logfile(), {}, 100000000)", from));
    }();
    DEADMAN_TRY_STATUS(sql.run(explain_off));
    return log;
}

} // namespace

base::Result<PlanReport> look_at_plans(const Bench& bench, const std::string& queue, int batch) {
    PlanReport report;
    if (!bench.target.is_postgres() || !bench.target.is_throwaway())
        return report; // somebody else's server: its log is not ours to fill
    bench.progress.show("looking at plans");
    DEADMAN_TRY(const auto sql, internal::open_sql_session(bench.target.url()));
    DEADMAN_TRY(const auto large_rows, sql->query(large_tables));
    std::set<std::string> large;
    for (const auto& row : large_rows)
        large.insert(row.front());
    DEADMAN_TRY(const std::string log, explained(bench, *sql, queue, batch));
    std::set<std::string> faults;
    for (const auto& scans : read_plans(log)) {
        ++report.statements;
        for (const Scan& scan : scans) {
            report.most_rows = std::max(report.most_rows, scan.rows);
            if (scan.node == "Seq Scan" && large.contains(scan.table))
                faults.insert(std::format("{} is read from end to end", scan.table));
            if (scan.rows > rows_over_batch * batch)
                faults.insert(std::format("{} of {} {} read {:.0f} rows for a batch of {}",
                                          scan.node, scan.table, scan.index, scan.rows, batch));
        }
    }
    report.faults.assign(faults.begin(), faults.end());
    if (report.statements == 0)
        report.faults.emplace_back("the server logged no plan");
    return report;
}

void add_plans(const PlanReport& report, Measurement& measured) {
    cli::JsonArray faults;
    for (const std::string& fault : report.faults) {
        faults.raw(cli::json_string(fault));
        measured.line("plan: " + fault);
    }
    measured.json.raw("plans", cli::JsonObject()
                                   .number("statements", report.statements)
                                   .raw("most_rows_of_a_node", decimal(report.most_rows, 0))
                                   .raw("faults", faults.str())
                                   .str());
    if (report.statements > 0 && report.faults.empty())
        measured.line(std::format("plans: {} statements, none reads a table from end to end or "
                                  "more than {:.0f} rows",
                                  report.statements, report.most_rows));
    measured.held = measured.held && report.faults.empty();
}

} // namespace deadman::bench
