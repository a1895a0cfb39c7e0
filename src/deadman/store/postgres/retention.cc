#include "deadman/store/postgres/internal/retention.h"

#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {
namespace {

const Statement prune{"prune_rows", "select deadman.prune_rows($1, $2)"};
const Statement old_partitions{
    "old_partitions",
    "select name, pg_relation_size('deadman.' || name), deadman.to_us(high::timestamptz) "
    "from deadman.partitions($1) where high::timestamptz <= deadman.from_us($2) order by "
    "low::timestamptz"};
const Statement dead_ranges{
    "dead_ranges", "select name from deadman.partitions('job') "
                   "where deadman.range_is_dead(low::bigint, high::bigint) order by low::bigint"};

// With a longer retention than this, a day more or less is nothing, and whole days are dropped.
constexpr base::Duration exact_below = std::chrono::hours(48);
constexpr base::Duration look_every = std::chrono::minutes(1);
// Above it, jobs are so many that their own partitions soon fall whole.
constexpr std::int64_t large_partition_bytes = 64 << 20;

} // namespace

base::Status Retention::run(const UpkeepRequest& request, UpkeepReport& report) {
    DEADMAN_TRY(const base::TimePoint now, store_.now());
    const std::int64_t cutoff_us = base::to_micros(now - request.retention);
    if (request.retention < exact_below) {
        DEADMAN_TRY(report.pruned, prune_rows(cutoff_us, request.batch));
    }
    const base::SteadyTime steady = store_.steady_now();
    if (looked_ && steady - looked_at_ < look_every)
        return {};
    DEADMAN_TRY_STATUS(look_at_partitions(request, cutoff_us, report));
    looked_ = true;
    looked_at_ = steady;
    return {};
}

base::Result<std::int64_t> Retention::prune_rows(std::int64_t cutoff_us, int batch) {
    DEADMAN_TRY(const pqxx::result pruned, store_.query(prune, {cutoff_us, batch}, Sent::reading));
    return pruned[0][0].as<std::int64_t>();
}

base::Status Retention::look_at_partitions(const UpkeepRequest& request, std::int64_t cutoff_us,
                                           UpkeepReport& report) {
    DEADMAN_TRY_STATUS(store_.query(make_partitions_statement, {}, Sent::reading));
    DEADMAN_TRY_STATUS(drop_old("done", cutoff_us, request, report));
    DEADMAN_TRY_STATUS(drop_old("run", cutoff_us, request, report));
    return drop_dead_job_ranges();
}

base::Status Retention::drop_old(std::string_view parent, std::int64_t cutoff_us,
                                 const UpkeepRequest& request, UpkeepReport& report) {
    DEADMAN_TRY(const pqxx::result old,
                store_.query(old_partitions, {parent, cutoff_us}, Sent::reading));
    for (const auto& row : old) {
        if (parent == "done" && row[1].as<std::int64_t>() < large_partition_bytes) {
            DEADMAN_TRY(const std::int64_t rows,
                        prune_rows(row[2].as<std::int64_t>() - 1, request.batch));
            report.pruned += rows;
            if (rows == request.batch)
                return {}; // the rest next time
        }
        drop_partition(parent, row[0].as<std::string>());
    }
    return {};
}

base::Status Retention::drop_dead_job_ranges() {
    DEADMAN_TRY(const pqxx::result dead, store_.query(dead_ranges, {}, Sent::reading));
    for (const auto& row : dead)
        drop_partition("job", row[0].as<std::string>());
    return {};
}

// Detaching concurrently waits for readers without stopping writers; the drop then takes the lock
// quickly or not at all. What fails is tried again at the next look.
void Retention::drop_partition(std::string_view parent, const std::string& name) {
    try {
        Connection connection(store_.settings());
        pqxx::nontransaction work(connection.raw());
        work.exec("set lock_timeout = '2s'");
        work.exec("alter table deadman." + std::string(parent) + " detach partition deadman." +
                  name + " concurrently");
        work.exec("set lock_timeout = '100ms'");
        work.exec("drop table deadman." + name);
    } catch (const std::exception&) {
        return;
    }
}

} // namespace deadman::store::postgres
