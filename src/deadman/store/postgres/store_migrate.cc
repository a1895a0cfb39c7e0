#include "deadman/store/postgres/internal/migrations.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {

using base::ErrorCode;

namespace {

/// The version that stands, 0 where there is none.
int version_of(pqxx::transaction_base& work) {
    // Not "if not exists": that asks for the right to make one also where it stands.
    if (work.exec("select to_regnamespace('deadman')")[0][0].is_null())
        work.exec("create schema deadman");
    work.exec("create table if not exists deadman.schema_version("
              "version int primary key, name text not null, applied_at timestamptz not null "
              "default now())");
    return work.exec("select coalesce(max(version), 0) from deadman.schema_version")[0][0]
        .as<int>();
}

void apply(pqxx::transaction_base& work, const Migration& migration) {
    work.exec(migration.sql);
    work.exec("insert into deadman.schema_version(version, name) values ($1, $2)",
              pqxx::params{migration.version, migration.name});
}

/// In one transaction, one at a time: whoever waited finds it done.
base::Result<MigrationReport> migrate_on(Connection& connection) {
    const auto watched = connection.watch(Pace::unhurried);
    pqxx::work work(connection.raw());
    work.exec("set local lock_timeout = '60s'; set local client_min_messages = warning; "
              "select pg_advisory_xact_lock(5917000001)");
    MigrationReport report;
    report.from_version = version_of(work);
    report.to_version = migrations().back().version;
    if (report.from_version > report.to_version)
        return base::fail(ErrorCode::conflict,
                          "the store's schema has version " + std::to_string(report.from_version) +
                              ", this build knows " + std::to_string(report.to_version) +
                              ": use a newer build");
    for (const Migration& migration : migrations())
        if (migration.version > report.from_version)
            apply(work, migration);
    work.exec("select deadman.make_partitions()");
    work.commit();
    return report;
}

} // namespace

base::Result<MigrationReport> Store::migrate() {
    for (int attempt = 0;; ++attempt) {
        Failure failure;
        try {
            Connection connection(settings_);
            connection.prepare_for_use();
            return migrate_on(connection);
        } catch (const std::exception& exception) {
            failure = translate_failure(exception, Sent::reading);
            // Idempotent: whatever came of a lost commit, it may be sent again.
            if (failure.error.code == ErrorCode::outcome_unknown)
                failure.remedy = Remedy::reconnect;
        }
        if (!mend(failure, attempt))
            return std::move(failure.error);
    }
}

} // namespace deadman::store::postgres
