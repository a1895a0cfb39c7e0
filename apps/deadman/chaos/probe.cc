#include "apps/deadman/chaos/probe.h"

#include <charconv>
#include <utility>

#include "apps/deadman/chaos/internal/sql_session.h"

namespace deadman::chaos {
namespace {

using internal::ProbeSql;
using internal::SqlSession;
using internal::TextRow;
using internal::TextRows;

std::int64_t number(const std::string& text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

bool truth(const std::string& text) {
    return text == "1" || text == "t";
}

class SqlProbe final : public Probe {
  public:
    SqlProbe(std::unique_ptr<SqlSession> session, const ProbeSql& sql, std::string queue)
        : session_(std::move(session)), sql_(sql), queue_(std::move(queue)) {}

    base::Status execute(const std::string& sql) override {
        DEADMAN_TRY_STATUS(session_->query(sql));
        return {};
    }

    base::Result<TextRows> query(const std::string& sql) override {
        return session_->query(sql);
    }

    bool is_write_locked() override {
        return session_->is_write_locked();
    }

    base::Result<Totals> totals() override {
        DEADMAN_TRY(const TextRows rows, watched(sql_.totals));
        const TextRow& row = rows.at(0);
        return Totals{.succeeded = number(row[0]),
                      .terminal = number(row[1]),
                      .ended_runs = number(row[2]),
                      .lapsed = number(row[3]),
                      .released = number(row[4])};
    }

    base::Result<std::map<std::int64_t, ProbedSession>> sessions() override {
        std::map<std::int64_t, ProbedSession> sessions;
        DEADMAN_TRY(const TextRows rows, watched(sql_.sessions));
        for (const TextRow& row : rows)
            sessions[number(row[0])] = {.pid = static_cast<int>(number(row[1])),
                                        .ended = truth(row[2]),
                                        .held = number(row[3]),
                                        .started_at = base::from_micros(number(row[4])),
                                        .lease_until = base::from_micros(number(row[5]))};
        return sessions;
    }

    base::Result<std::map<std::int64_t, JobEnd>> ends() override {
        std::map<std::int64_t, JobEnd> ends;
        DEADMAN_TRY(const TextRows rows, watched(sql_.ends));
        for (const TextRow& row : rows)
            ends[number(row[0])] = {.state = row[1], .reason = row[2]};
        return ends;
    }

    base::Result<std::vector<EndedRun>> runs() override {
        std::vector<EndedRun> runs;
        DEADMAN_TRY(const TextRows rows, watched(sql_.runs));
        for (const TextRow& row : rows)
            runs.push_back({.job = number(row[0]),
                            .fence = number(row[1]),
                            .session = number(row[2]),
                            .lapsed = truth(row[3]),
                            .finished_at = base::from_micros(number(row[4]))});
        return runs;
    }

    base::Result<std::map<std::int64_t, std::int64_t>> effects(const std::string& table) override {
        std::map<std::int64_t, std::int64_t> counts;
        DEADMAN_TRY(const TextRows rows,
                    session_->query("SELECT job_id, count(*) FROM " + table + " GROUP BY job_id"));
        for (const TextRow& row : rows)
            counts[number(row[0])] = number(row[1]);
        return counts;
    }

  private:
    base::Result<TextRows> watched(std::string sql) {
        constexpr std::string_view place = "$queue";
        for (std::size_t at = 0; (at = sql.find(place)) != std::string::npos;)
            sql.replace(at, place.size(), queue_);
        return session_->query(sql);
    }

    std::unique_ptr<SqlSession> session_;
    const ProbeSql& sql_;
    std::string queue_;
};

} // namespace

namespace internal {

base::Result<std::unique_ptr<SqlSession>> open_session(const StoreUrl& url) {
    if (url.kind == StoreUrl::Kind::sqlite)
        return open_sqlite_session(url.target);
    if (url.kind == StoreUrl::Kind::postgres)
        return open_postgres_session(url.target);
    return base::fail(base::ErrorCode::invalid_argument,
                      "chaos needs a store that several processes share: sqlite:... or "
                      "postgresql://...");
}

const ProbeSql& probe_sql(const StoreUrl& url) {
    if (url.kind == StoreUrl::Kind::postgres)
        return postgres_probe_sql();
    return sqlite_probe_sql();
}

} // namespace internal

base::Result<std::unique_ptr<Probe>> open_probe(const StoreUrl& url, const std::string& queue) {
    DEADMAN_TRY(auto session, internal::open_session(url));
    return std::unique_ptr<Probe>(
        std::make_unique<SqlProbe>(std::move(session), internal::probe_sql(url), queue));
}

} // namespace deadman::chaos
