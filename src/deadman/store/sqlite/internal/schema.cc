#include "deadman/store/sqlite/internal/schema.h"

#include <array>
#include <string>

#include <sqlite3.h>

namespace deadman::store::sqlite {
namespace {

// A job is in exactly one of ready, later, lease and done: that is its state. Times are
// microseconds; columns that end in _steady are CLOCK_BOOTTIME and mean something only within one
// boot.
constexpr const char* first_schema = R"sql(
-- Last values given out. 'ticket' numbers jobs too: a new job's ticket is its id.
CREATE TABLE deadman_sequence (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO deadman_sequence (name, value) VALUES ('ticket', 0), ('fence', 0), ('session', 0);

-- Written once. The payload comes last: reading the columns before it touches no overflow page.
CREATE TABLE deadman_job (
    id            INTEGER PRIMARY KEY,
    kind          TEXT NOT NULL,
    queue         TEXT NOT NULL,
    priority      INTEGER NOT NULL,
    max_attempts  INTEGER NOT NULL,
    retry_kind    INTEGER NOT NULL,
    retry_base    INTEGER NOT NULL,
    retry_cap     INTEGER NOT NULL,
    retry_jitter  REAL NOT NULL,
    timeout       INTEGER NOT NULL,
    transactional INTEGER NOT NULL,
    unique_key    TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    payload       TEXT NOT NULL
) STRICT;

-- Claimable now, in the order of claiming. Lanes: 0 returned work, 1 new work, 2 suspects.
CREATE TABLE deadman_ready (
    queue       TEXT NOT NULL,
    priority    INTEGER NOT NULL,
    lane        INTEGER NOT NULL,
    ticket      INTEGER NOT NULL,
    id          INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    lapse_score INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    snoozes     INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    PRIMARY KEY (queue, priority, lane, ticket)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX deadman_ready_by_id ON deadman_ready (id);

-- Due in the future: delays, backoffs, snoozes.
CREATE TABLE deadman_later (
    id          INTEGER PRIMARY KEY,
    due         INTEGER NOT NULL,
    lane        INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    lapse_score INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    snoozes     INTEGER NOT NULL
) STRICT;
CREATE INDEX deadman_later_by_due ON deadman_later (due, id);

-- Running: who holds it, under which fence.
CREATE TABLE deadman_lease (
    job         INTEGER PRIMARY KEY,
    fence       INTEGER NOT NULL,
    session     INTEGER NOT NULL,
    claim_no    INTEGER NOT NULL,
    slot        INTEGER NOT NULL,
    solo        INTEGER NOT NULL,
    started     INTEGER NOT NULL DEFAULT 0,
    cancel      INTEGER NOT NULL DEFAULT 0,
    attempts    INTEGER NOT NULL,
    lapse_score INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    snoozes     INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    claimed_at  INTEGER NOT NULL,
    percent     INTEGER NOT NULL DEFAULT 0,
    note        TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX deadman_lease_by_session ON deadman_lease (session, claim_no, slot);

-- Finished, with the run that ended it; fence is NULL where no run did.
CREATE TABLE deadman_done (
    id          INTEGER PRIMARY KEY,
    state       TEXT NOT NULL,
    fence       INTEGER,
    session     INTEGER,
    reaped      INTEGER NOT NULL,
    cancel      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    lapse_score INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    snoozes     INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    claimed_at  INTEGER,
    finished_at INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    percent     INTEGER NOT NULL,
    note        TEXT NOT NULL,
    message     TEXT NOT NULL,
    result      TEXT NOT NULL
) STRICT;
CREATE INDEX deadman_done_by_time ON deadman_done (finished_at, id);
CREATE INDEX deadman_done_unsuccessful ON deadman_done (finished_at, id) WHERE state <> 'succeeded';

-- Ended runs of jobs that went on.
CREATE TABLE deadman_run (
    job         INTEGER NOT NULL,
    fence       INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    session     INTEGER NOT NULL,
    reaped      INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    claimed_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    percent     INTEGER NOT NULL,
    note        TEXT NOT NULL,
    message     TEXT NOT NULL,
    PRIMARY KEY (job, fence)
) STRICT, WITHOUT ROWID;

-- state: live; lapsed (some of its leases may still have to be returned); ended.
CREATE TABLE deadman_session (
    id             INTEGER PRIMARY KEY,
    key            TEXT NOT NULL,
    state          TEXT NOT NULL,
    boot           TEXT NOT NULL,
    lease          INTEGER NOT NULL,
    renewed_steady INTEGER NOT NULL,
    renewed_at     INTEGER NOT NULL,
    idle           INTEGER NOT NULL DEFAULT 0,
    blamed         INTEGER NOT NULL DEFAULT 0,
    alone          INTEGER NOT NULL DEFAULT 0,
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    end_reason     TEXT NOT NULL DEFAULT '',
    worker         TEXT NOT NULL,
    host           TEXT NOT NULL,
    pid            INTEGER NOT NULL,
    version        TEXT NOT NULL,
    slots          INTEGER NOT NULL,
    queues         TEXT NOT NULL,
    kinds          TEXT NOT NULL
) STRICT;
CREATE INDEX deadman_session_by_state ON deadman_session (state, ended_at);

-- Claim numbers that took something.
CREATE TABLE deadman_claim (
    session  INTEGER NOT NULL,
    claim_no INTEGER NOT NULL,
    PRIMARY KEY (session, claim_no)
) STRICT, WITHOUT ROWID;

-- At most one unfinished job per key.
CREATE TABLE deadman_unique_key (
    key TEXT PRIMARY KEY,
    job INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE deadman_idempotency_key (
    key         TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    job         INTEGER NOT NULL,
    used_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX deadman_idempotency_key_by_time ON deadman_idempotency_key (used_at);

CREATE TABLE deadman_queue (
    name   TEXT PRIMARY KEY,
    paused INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- One row each. The tick tells a sweep how long nobody swept; the leader row serves where the lock
-- file's holder was stopped.
CREATE TABLE deadman_tick (
    only                INTEGER PRIMARY KEY CHECK (only = 1),
    boot                TEXT NOT NULL,
    steady              INTEGER NOT NULL,
    grace_from_steady   INTEGER NOT NULL,
    grace_until_steady  INTEGER NOT NULL
) STRICT;
CREATE TABLE deadman_leader (
    only         INTEGER PRIMARY KEY CHECK (only = 1),
    holder       TEXT NOT NULL,
    boot         TEXT NOT NULL,
    until_steady INTEGER NOT NULL
) STRICT;
)sql";

struct Migration {
    const char* name;
    const char* sql;
};

constexpr std::array<Migration, 1> migrations{{{"first_schema", first_schema}}};

void run_script(Connection& connection, std::string_view script) {
    const std::string text(script);
    const int code = sqlite3_exec(connection.handle(), text.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        throw SqliteFailure{code, sqlite3_errmsg(connection.handle())};
}

} // namespace

// Two processes that open a new file at once: one of them finds it busy, and then done.
base::Status use_write_ahead_log(Connection& connection) {
    constexpr int most_tries = 200;
    constexpr int nap_ms = 10;
    for (int tries = 1;; ++tries) {
        try {
            connection.run("PRAGMA journal_mode = WAL");
            connection.run("SELECT 1 FROM sqlite_schema"); // opens the log
            return {};
        } catch (const SqliteFailure& failure) {
            if ((failure.code & 0xff) != SQLITE_BUSY || tries == most_tries)
                return translate_sqlite(failure, Moment::statement);
        }
        sqlite3_sleep(nap_ms);
    }
}

int schema_version() {
    return static_cast<int>(migrations.size());
}

int stored_schema_version(Connection& connection) {
    Cursor exists = connection.query(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'deadman_migration'");
    if (!exists.next())
        return 0;
    Cursor version = connection.query("SELECT coalesce(max(version), 0) FROM deadman_migration");
    return version.next() ? version.small(0) : 0;
}

base::Result<MigrationReport> migrate(Connection& connection, base::TimePoint now) {
    MigrationReport report{.from_version = stored_schema_version(connection),
                           .to_version = schema_version()};
    if (report.from_version > report.to_version)
        return base::fail(base::ErrorCode::conflict,
                          "the database has schema version " + std::to_string(report.from_version) +
                              ", this build knows up to " + std::to_string(report.to_version) +
                              ": use a newer build");
    if (report.from_version == report.to_version)
        return report;
    run_script(connection, "CREATE TABLE IF NOT EXISTS deadman_migration (version INTEGER PRIMARY "
                           "KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT");
    for (int version = report.from_version + 1; version <= report.to_version; ++version) {
        const Migration& migration = migrations[static_cast<std::size_t>(version) - 1];
        run_script(connection, migration.sql);
        connection.run("INSERT INTO deadman_migration (version, name, applied_at) "
                       "VALUES (?1, ?2, ?3)",
                       version, std::string_view(migration.name), base::to_micros(now));
    }
    return report;
}

} // namespace deadman::store::sqlite
