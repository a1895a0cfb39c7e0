#include <sqlite3.h>

#include "apps/deadman/bench/internal/sql_session.h"

namespace deadman::bench::internal {
namespace {

constexpr int busy_patience_ms = 60'000;

class SqliteSession final : public SqlSession {
  public:
    explicit SqliteSession(sqlite3* file) : file_(file) {}

    ~SqliteSession() override {
        sqlite3_close(file_);
    }

    SqliteSession(const SqliteSession&) = delete;
    SqliteSession& operator=(const SqliteSession&) = delete;

    base::Result<std::vector<TextRow>> query(const std::string& sql) override {
        std::vector<TextRow> rows;
        const auto add = [](void* to, int count, char** values, char**) {
            TextRow row;
            for (int column = 0; column < count; ++column)
                row.emplace_back(values[column] == nullptr ? "" : values[column]);
            static_cast<std::vector<TextRow>*>(to)->push_back(std::move(row));
            return 0;
        };
        char* wrong = nullptr;
        if (sqlite3_exec(file_, sql.c_str(), add, &rows, &wrong) == SQLITE_OK)
            return rows;
        const std::string why = wrong == nullptr ? "failed" : wrong;
        sqlite3_free(wrong);
        return base::fail(base::ErrorCode::internal, "sqlite: " + why);
    }

  private:
    sqlite3* file_;
};

} // namespace

base::Result<std::unique_ptr<SqlSession>> open_sqlite_session(const std::string& path) {
    sqlite3* file = nullptr;
    if (sqlite3_open_v2(path.c_str(), &file, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
        const std::string why = sqlite3_errmsg(file);
        sqlite3_close(file);
        return base::fail(base::ErrorCode::unavailable, "sqlite: " + path + ": " + why);
    }
    sqlite3_busy_timeout(file, busy_patience_ms);
    return std::unique_ptr<SqlSession>(std::make_unique<SqliteSession>(file));
}

} // namespace deadman::bench::internal
