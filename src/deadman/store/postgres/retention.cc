#include "deadman/store/postgres/internal/retention.h"

#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {
namespace {

const Statement prune{"prune_rows", "select deadman.prune_rows($1, $2)", Pace::slow};
const Statement old_partitions{
    "old_partitions",
    "select name, pg_relation_size('deadman.' || name), deadman.to_us(high::timestamptz) "
    "from deadman.partitions($1) where high::timestamptz <= deadman.from_us($2) order by "
    "low::timestamptz",
    Pace::slow};
const Statement full_ranges{
    "full_ranges",
    "select name, low::bigint, high::bigint from deadman.partitions('job') "
    "where high::bigint <= (select last_value from deadman.ticket) order by 2",
    Pace::slow};
const Statement keep_jobs{"keep_jobs", "select deadman.keep_jobs($1, $2, $3)", Pace::slow};
const Statement forget_kept{"forget_kept", "select deadman.forget_kept($1, $2)", Pace::slow};
const Statement give_up_partition{
    "give_up_partition",
    "insert into deadman.leaving(name, parent) values ($1, $2) on conflict do nothing"};
const Statement leaving{"partitions_leaving", "select * from deadman.partitions_leaving()"};
const Statement has_left{"has_left", "delete from deadman.leaving where name = $1"};

// With a longer retention than this, a day more or less is nothing, and whole days are dropped.
constexpr base::Duration exact_below = std::chrono::hours(48);
constexpr base::Duration look_every = std::chrono::minutes(1);
// Above it, jobs are so many that their own partitions soon fall whole.
constexpr std::int64_t large_partition_bytes = 64 << 20;
// A thousandth of a range: more are still at work, and it is too early to move them.
constexpr int most_kept = 10'000;

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
    DEADMAN_TRY_STATUS(give_up_job_ranges());
    DEADMAN_TRY(const pqxx::result kept,
                store_.query(forget_kept, {kept_after_, request.batch}, Sent::reading));
    kept_after_ = kept[0][0].as<std::int64_t>();
    return drop_leaving();
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
        DEADMAN_TRY_STATUS(
            store_.query(give_up_partition, {row[0].as<std::string>(), parent}, Sent::reading));
    }
    return {};
}

// What is still in use of a range is copied before it goes (PROTOCOL H1).
base::Status Retention::give_up_job_ranges() {
    DEADMAN_TRY(const pqxx::result full, store_.query(full_ranges, {}, Sent::reading));
    for (const auto& row : full) {
        DEADMAN_TRY(const pqxx::result may_go,
                    store_.query(keep_jobs,
                                 {row[1].as<std::int64_t>(), row[2].as<std::int64_t>(), most_kept},
                                 Sent::reading));
        if (may_go[0][0].as<bool>())
            DEADMAN_TRY_STATUS(
                store_.query(give_up_partition, {row[0].as<std::string>(), "job"}, Sent::reading));
    }
    return {};
}

base::Status Retention::drop_leaving() {
    DEADMAN_TRY(const pqxx::result all, store_.query(leaving, {}, Sent::reading));
    for (const auto& row : all)
        drop_partition(row[1].as<std::string>(), row[0].as<std::string>(),
                       row[2].as<std::string>());
    return {};
}

// Detaching concurrently waits for readers without stopping writers; the drop then takes the lock
// quickly or not at all. What fails is gone on with at the next look, from the step that it
// reached.
void Retention::drop_partition(const std::string& parent, const std::string& name,
                               const std::string& step) {
    try {
        Connection connection(store_.settings());
        const auto watched = connection.watch(Pace::slow); // longer than its waits for locks
        pqxx::nontransaction work(connection.raw());
        if (step == "attached" || step == "detaching") {
            work.exec("set lock_timeout = '2s'");
            work.exec("alter table deadman." + parent + " detach partition deadman." + name +
                      (step == "attached" ? " concurrently" : " finalize"));
        }
        work.exec("set lock_timeout = '100ms'");
        work.exec("drop table if exists deadman." + name);
        work.exec(has_left.sql, pqxx::params{name});
    } catch (const std::exception&) {
        return;
    }
}

} // namespace deadman::store::postgres
