#include <string>

#include <sqlite3.h>

#include "apps/deadman/chaos/internal/sql_session.h"

namespace deadman::chaos::internal {
namespace {

constexpr int lock_patience_ms = 50;     // between other writers there is a turn within that time
constexpr int busy_patience_ms = 60'000; // a paused worker may hold the write lock

// Only the owner of the file checkpoints (DECISIONS 019): not this connection, nor its closing.
class SqliteSession final : public SqlSession {
  public:
    explicit SqliteSession(sqlite3* handle) : handle_(handle) {}

    SqliteSession(const SqliteSession&) = delete;

    ~SqliteSession() override {
        sqlite3_close_v2(handle_);
    }

    base::Result<TextRows> query(const std::string& sql) override {
        TextRows rows;
        sqlite3_stmt* statement = nullptr;
        const char* rest = sql.c_str();
        while (*rest != '\0') {
            if (sqlite3_prepare_v2(handle_, rest, -1, &statement, &rest) != SQLITE_OK)
                return failure();
            if (statement == nullptr)
                break; // white space
            int code = SQLITE_ROW;
            while ((code = sqlite3_step(statement)) == SQLITE_ROW)
                rows.push_back(row_of(statement));
            sqlite3_finalize(statement);
            if (code != SQLITE_DONE)
                return failure();
        }
        return rows;
    }

    bool is_write_locked() override {
        sqlite3_busy_timeout(handle_, lock_patience_ms);
        const int code = sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
        if (code == SQLITE_OK)
            sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
        sqlite3_busy_timeout(handle_, busy_patience_ms);
        return (code & 0xff) == SQLITE_BUSY;
    }

  private:
    static TextRow row_of(sqlite3_stmt* statement) {
        TextRow row;
        for (int column = 0; column < sqlite3_column_count(statement); ++column) {
            const auto* text =
                reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
            row.emplace_back(text != nullptr ? text : "",
                             static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
        }
        return row;
    }

    base::Error failure() const {
        const int code = sqlite3_errcode(handle_);
        return base::fail(code == SQLITE_BUSY ? base::ErrorCode::unavailable
                                              : base::ErrorCode::internal,
                          std::string("sqlite: ") + sqlite3_errmsg(handle_));
    }

    sqlite3* handle_;
};

} // namespace

base::Result<std::unique_ptr<SqlSession>> open_sqlite_session(const std::string& path) {
    sqlite3* handle = nullptr;
    const int code =
        sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    auto session = std::make_unique<SqliteSession>(handle);
    if (code != SQLITE_OK)
        return base::fail(base::ErrorCode::unavailable,
                          "cannot open " + path + ": " + sqlite3_errstr(code));
    sqlite3_busy_timeout(handle, busy_patience_ms);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    DEADMAN_TRY_STATUS(session->query("PRAGMA wal_autocheckpoint = 0"));
    return std::unique_ptr<SqlSession>(std::move(session));
}

const ProbeSql& sqlite_probe_sql() {
    static constexpr ProbeSql sql{
        .totals =
            "WITH j AS (SELECT id FROM deadman_job WHERE queue = '$queue') "
            "SELECT "
            "(SELECT count(*) FROM deadman_done JOIN j USING (id) WHERE state = 'succeeded'), "
            "(SELECT count(*) FROM deadman_done JOIN j USING (id)), "
            "(SELECT count(*) FROM deadman_run r JOIN j ON j.id = r.job) + "
            "(SELECT count(*) FROM deadman_done d JOIN j USING (id) WHERE d.fence IS NOT NULL), "
            "(SELECT count(*) FROM deadman_run r JOIN j ON j.id = r.job "
            " WHERE r.outcome = 'lapse') + "
            "(SELECT count(*) FROM deadman_done d JOIN j USING (id) WHERE d.reaped <> 0), "
            "(SELECT count(*) FROM deadman_run r JOIN j ON j.id = r.job "
            " WHERE r.outcome = 'release')",
        .sessions = "SELECT s.id, s.pid, s.state <> 'live' AND count(l.job) = 0, count(l.job), "
                    "s.started_at, s.renewed_at + s.lease FROM deadman_session s "
                    "LEFT JOIN deadman_lease l ON l.session = s.id GROUP BY s.id",
        .ends = "SELECT d.id, d.state, d.reason FROM deadman_done d JOIN deadman_job j USING (id) "
                "WHERE j.queue = '$queue'",
        .runs = "SELECT r.job, r.fence, r.session, r.outcome = 'lapse', r.finished_at "
                "FROM deadman_run r JOIN deadman_job j ON j.id = r.job WHERE j.queue = '$queue' "
                "UNION ALL "
                "SELECT d.id, d.fence, coalesce(d.session, 0), d.reaped <> 0, d.finished_at "
                "FROM deadman_done d JOIN deadman_job j USING (id) "
                "WHERE j.queue = '$queue' AND d.fence IS NOT NULL",
    };
    return sql;
}

} // namespace deadman::chaos::internal
