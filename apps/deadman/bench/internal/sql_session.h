#pragma once
// SqlSession: a plain connection to the database of a store, for what no store offers: fills,
// statistics, sizes, a transaction that stays open.
//
// Thread-safety: external synchronization.
// Errors:        unavailable: not connected. internal: the statement failed.

#include <memory>
#include <string>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/wiring/store_url.h"

namespace deadman::bench::internal {

using TextRow = std::vector<std::string>;

class SqlSession {
  public:
    virtual ~SqlSession() = default;

    /// One statement, or several of which the last one's rows count. null comes out empty.
    virtual base::Result<std::vector<TextRow>> query(const std::string& sql) = 0;

    base::Status run(const std::string& sql);
    base::Result<std::string> text(const std::string& sql); // of the only row
    base::Result<double> number(const std::string& sql);
};

base::Result<std::unique_ptr<SqlSession>> open_postgres_session(const std::string& url);
base::Result<std::unique_ptr<SqlSession>> open_sqlite_session(const std::string& path);

/// invalid_argument for a store without SQL.
base::Result<std::unique_ptr<SqlSession>> open_sql_session(const wiring::StoreUrl& url);

} // namespace deadman::bench::internal
