#include <pqxx/pqxx>

#include "apps/deadman/bench/internal/sql_session.h"

namespace deadman::bench::internal {
namespace {

class PostgresSession final : public SqlSession {
  public:
    explicit PostgresSession(const std::string& url) : connection_(url) {}

    base::Result<std::vector<TextRow>> query(const std::string& sql) override {
        try {
            pqxx::nontransaction work(connection_);
            std::vector<TextRow> rows;
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

} // namespace deadman::bench::internal
