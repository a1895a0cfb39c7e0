#include <string>

#include <pqxx/pqxx>

#include "apps/deadman/chaos/internal/sql_session.h"

namespace deadman::chaos::internal {
namespace {

class PostgresSession final : public SqlSession {
  public:
    explicit PostgresSession(const std::string& url) : connection_(url) {}

    base::Result<TextRows> query(const std::string& sql) override {
        try {
            pqxx::nontransaction work(connection_);
            TextRows rows;
            for (const auto& row : work.exec(sql)) {
                TextRow texts;
                for (const auto& field : row)
                    texts.emplace_back(field.is_null() ? "" : field.c_str());
                rows.push_back(std::move(texts));
            }
            return rows;
        } catch (const pqxx::broken_connection& error) {
            return base::fail(base::ErrorCode::unavailable,
                              std::string("postgres: ") + error.what());
        } catch (const std::exception& error) {
            return base::fail(base::ErrorCode::internal, std::string("postgres: ") + error.what());
        }
    }

  private:
    pqxx::connection connection_;
};

} // namespace

base::Result<std::unique_ptr<SqlSession>> open_postgres_session(const std::string& url) {
    try {
        return std::unique_ptr<SqlSession>(std::make_unique<PostgresSession>(url));
    } catch (const std::exception& error) {
        return base::fail(base::ErrorCode::unavailable, std::string("postgres: ") + error.what());
    }
}

// Outcomes are numbers there: 1 succeeded, 2 failed, 3 cancelled, 4 expired; 13 release, 14 lapse.
const ProbeSql& postgres_probe_sql() {
    static constexpr ProbeSql sql{
        .totals =
            "WITH j AS MATERIALIZED (SELECT j.id FROM deadman.job j JOIN deadman.queue q "
            "  ON q.id = j.queue WHERE q.name = '$queue'), "
            "d AS MATERIALIZED (SELECT d.* FROM deadman.done d JOIN j USING (id)), "
            "r AS MATERIALIZED (SELECT r.* FROM deadman.run r JOIN j USING (id)) "
            "SELECT (SELECT count(*) FROM d WHERE state = 1), (SELECT count(*) FROM d), "
            "(SELECT count(*) FROM r) + (SELECT count(*) FROM d WHERE claimed_at IS NOT NULL), "
            "(SELECT count(*) FROM r WHERE outcome = 14) + (SELECT count(*) FROM d WHERE lapsed), "
            "(SELECT count(*) FROM r WHERE outcome = 13)",
        .sessions =
            "SELECT s.id, w.pid, (s.state <> 0 AND coalesce(l.held, 0) = 0)::int, "
            "coalesce(l.held, 0), (extract(epoch FROM w.started_at) * 1000000)::bigint, "
            "(extract(epoch FROM s.renewed_at + s.lease) * 1000000)::bigint "
            "FROM deadman.session s JOIN deadman.worker w ON w.session = s.id LEFT JOIN "
            "(SELECT session, sum(length(ended) - bit_count(ended)) AS held FROM deadman.lease "
            " GROUP BY session) l ON l.session = s.id",
        .ends = "SELECT d.id, CASE d.state WHEN 1 THEN 'succeeded' WHEN 2 THEN 'failed' "
                "WHEN 3 THEN 'cancelled' ELSE 'expired' END, coalesce(d.reason, '') "
                "FROM deadman.done d JOIN deadman.job j USING (id) JOIN deadman.queue q "
                "ON q.id = j.queue WHERE q.name = '$queue' AND NOT d.retried",
        .runs = "WITH j AS (SELECT j.id FROM deadman.job j JOIN deadman.queue q "
                "  ON q.id = j.queue WHERE q.name = '$queue') "
                "SELECT id, fence, coalesce(session, 0), (outcome = 14)::int, "
                "(extract(epoch FROM finished_at) * 1000000)::bigint "
                "FROM deadman.run JOIN j USING (id) UNION ALL "
                "SELECT id, fence, coalesce(session, 0), lapsed::int, "
                "(extract(epoch FROM finished_at) * 1000000)::bigint "
                "FROM deadman.done JOIN j USING (id) WHERE claimed_at IS NOT NULL",
    };
    return sql;
}

} // namespace deadman::chaos::internal
