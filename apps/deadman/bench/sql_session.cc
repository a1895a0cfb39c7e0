#include <cstdlib>

#include "apps/deadman/bench/internal/sql_session.h"

namespace deadman::bench::internal {

using base::ErrorCode;

base::Status SqlSession::run(const std::string& sql) {
    DEADMAN_TRY_STATUS(query(sql));
    return {};
}

base::Result<std::string> SqlSession::text(const std::string& sql) {
    DEADMAN_TRY(auto rows, query(sql));
    if (rows.size() != 1 || rows.front().empty())
        return base::fail(ErrorCode::internal, "not one row: " + sql);
    return std::move(rows.front().front());
}

base::Result<double> SqlSession::number(const std::string& sql) {
    DEADMAN_TRY(const std::string value, text(sql));
    return std::strtod(value.c_str(), nullptr);
}

base::Result<std::unique_ptr<SqlSession>> open_sql_session(const wiring::StoreUrl& url) {
    switch (url.kind) {
    case wiring::StoreUrl::Kind::postgres:
        return open_postgres_session(url.target);
    case wiring::StoreUrl::Kind::sqlite:
        return open_sqlite_session(url.target);
    case wiring::StoreUrl::Kind::memory:
        break;
    }
    return base::fail(ErrorCode::invalid_argument,
                      url.text() + ": this needs a store with SQL: sqlite or postgres");
}

} // namespace deadman::bench::internal
