#include "apps/deadman/bench/measurement.h"

#include <algorithm>
#include <format>

#include "apps/deadman/bench/internal/sql_session.h"
#include "apps/deadman/bench/samples.h"
#include "deadman/base/random.h"

namespace deadman::bench {
namespace {

constexpr int fill_batch = 1'000;

base::Result<double> number_of(const BenchTarget& target, const std::string& postgres,
                               const std::string& sqlite) {
    if (target.is_private())
        return 0.0;
    DEADMAN_TRY(const auto sql, internal::open_sql_session(target.url()));
    return sql->number(target.is_postgres() ? postgres : sqlite);
}

/// Tables and their indexes; `names`: a condition on a table's name.
std::string postgres_size(const std::string& names) {
    return "select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c where "
           "c.relnamespace = 'deadman'::regnamespace and c.relkind = 'r' and " +
           names;
}

std::string sqlite_size(const std::string& names) {
    return "select coalesce(sum(s.pgsize), 0) from dbstat s join sqlite_schema t on "
           "t.name = s.name where " +
           names;
}

} // namespace

std::string new_queue() {
    return "bench-" + base::random_hex(6);
}

base::Status fill(const Bench& bench, const domain::JobSpec& job, int jobs) {
    const std::vector<domain::JobSpec> batch(fill_batch, job);
    for (int done = 0; done < jobs; done += fill_batch) {
        const int take = std::min(fill_batch, jobs - done);
        DEADMAN_TRY_STATUS(
            bench.target.store().enqueue(std::span(batch).first(static_cast<std::size_t>(take))));
        bench.progress.show(
            std::format("enqueued {} of {}", thousands(done + take), thousands(jobs)));
    }
    return {};
}

base::Result<double> stored_bytes(const BenchTarget& target) {
    return number_of(target, postgres_size("true"), sqlite_size("true"));
}

base::Result<double> lasting_bytes(const BenchTarget& target) {
    return number_of(target, postgres_size("c.relname not in ('ready', 'later', 'lease')"),
                     sqlite_size("t.tbl_name not in ('deadman_ready', 'deadman_later', "
                                 "'deadman_lease')"));
}

base::Result<double> log_bytes(const BenchTarget& target) {
    return number_of(target, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn", "select 0");
}

} // namespace deadman::bench
