#include "apps/deadman/bench/deep_fill.h"

#include <algorithm>
#include <filesystem>
#include <format>

#include "apps/deadman/bench/internal/sql_session.h"
#include "apps/deadman/bench/samples.h"
#include "deadman/platform/paths.h"

namespace deadman::bench {
namespace {

using base::ErrorCode;

constexpr int chunk = 500'000;
constexpr double bytes_a_job = 1'500; // tables, indexes, and a log that is written once
constexpr double bytes_of_log = 9e9;  // what a server may keep of it
constexpr double bytes_to_spare = 2e9;

/// Room where a throwaway store lives. Of somebody else's server nothing is known.
base::Status look_at_disk(const BenchTarget& target, int jobs) {
    if (!target.is_throwaway())
        return {};
    std::error_code failed;
    const auto space = std::filesystem::space(platform::temporary_root(), failed);
    const double logged = target.is_postgres() ? bytes_of_log : 0;
    const double wanted =
        jobs * bytes_a_job + std::min(logged, jobs * bytes_a_job) + bytes_to_spare;
    if (failed || static_cast<double>(space.available) >= wanted)
        return {};
    return base::fail(ErrorCode::exhausted,
                      std::format("{} jobs need about {:.0f} GB of disk, and {} has {:.0f}", jobs,
                                  wanted / 1e9, platform::temporary_root(),
                                  static_cast<double>(space.available) / 1e9));
}

/// What a fill is written with: `columns` of `table` but for those that a copy has of its own.
struct Dialect {
    std::string job_table, ready_table, later_table;
    std::string (*columns)(const std::string& table, const std::string& own);
    std::string reserve; // {} numbers; gives the last one
    std::string series;  // a FROM item `s(n)` from {} to {}
};

std::string postgres_columns(const std::string& table, const std::string& own) {
    return std::format("select string_agg(quote_ident(attname), ', ' order by attnum) from "
                       "pg_attribute where attrelid = '{}'::regclass and attnum > 0 and not "
                       "attisdropped and attname not in ({})",
                       table, own);
}

std::string sqlite_columns(const std::string& table, const std::string& own) {
    return std::format("select group_concat(name, ', ') from pragma_table_info('{}') where name "
                       "not in ({})",
                       table, own);
}

Dialect dialect_of(const BenchTarget& target) {
    if (target.is_postgres())
        return {.job_table = "deadman.job",
                .ready_table = "deadman.ready",
                .later_table = "deadman.later",
                .columns = &postgres_columns,
                .reserve = "select setval('deadman.ticket', nextval('deadman.ticket') + {})",
                .series = "generate_series({}::bigint, {}) s(n)"};
    return {.job_table = "deadman_job",
            .ready_table = "deadman_ready",
            .later_table = "deadman_later",
            .columns = &sqlite_columns,
            .reserve = "update deadman_sequence set value = value + 1 + {} where name = 'ticket' "
                       "returning value",
            .series = "(with recursive c(n) as (select {} union all select n + 1 from c where n < "
                      "{}) select n from c) s"};
}

/// insert into TABLE (own columns as n, the others as the template has them)
base::Status copy_rows(internal::SqlSession& sql, const Dialect& dialect, const std::string& table,
                       const std::string& own, std::int64_t original, std::int64_t first,
                       std::int64_t last) {
    std::string quoted;
    std::string numbers;
    for (std::size_t at = 0; at < own.size();) {
        const std::size_t comma = std::min(own.find(',', at), own.size());
        quoted += (at == 0 ? "'" : ", '") + own.substr(at, comma - at) + "'";
        numbers += at == 0 ? "s.n" : ", s.n";
        at = comma + 1;
    }
    DEADMAN_TRY(const std::string others, sql.text(dialect.columns(table, quoted)));
    return sql.run(
        std::format("insert into {0} ({1}, {2}) select {3}, {2} from {4}, (select * from "
                    "{0} where id = {5}) o",
                    table, own, others, numbers,
                    std::vformat(dialect.series, std::make_format_args(first, last)), original));
}

base::Status copy_jobs(internal::SqlSession& sql, const Dialect& dialect, FillTo to,
                       std::int64_t original, std::int64_t first, std::int64_t last) {
    DEADMAN_TRY_STATUS(copy_rows(sql, dialect, dialect.job_table, "id", original, first, last));
    if (to == FillTo::later)
        return copy_rows(sql, dialect, dialect.later_table, "id", original, first, last);
    return copy_rows(sql, dialect, dialect.ready_table, "id,ticket", original, first, last);
}

} // namespace

base::Status deep_fill(const Bench& bench, const domain::JobSpec& job, FillTo to, int jobs) {
    DEADMAN_TRY_STATUS(look_at_disk(bench.target, jobs));
    DEADMAN_TRY(const auto enqueued, bench.target.store().enqueue(std::span(&job, 1)));
    const std::int64_t original = enqueued.front().id.value;
    DEADMAN_TRY(const auto sql, internal::open_sql_session(bench.target.url()));
    const Dialect dialect = dialect_of(bench.target);
    for (int done = 1; done < jobs;) {
        const std::int64_t take = std::min(chunk, jobs - done);
        DEADMAN_TRY(const double last,
                    sql->number(std::vformat(dialect.reserve, std::make_format_args(take))));
        const auto end = static_cast<std::int64_t>(last);
        if (bench.target.is_postgres())
            DEADMAN_TRY_STATUS(sql->run("select deadman.make_partitions()"));
        DEADMAN_TRY_STATUS(sql->run("begin"));
        DEADMAN_TRY_STATUS(copy_jobs(*sql, dialect, to, original, end - take + 1, end));
        DEADMAN_TRY_STATUS(sql->run("commit"));
        done += static_cast<int>(take);
        bench.progress.show(std::format("filled {} of {}", thousands(done), thousands(jobs)));
    }
    return {};
}

} // namespace deadman::bench
