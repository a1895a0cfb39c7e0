#pragma once
// SqlSession: one plain connection, rows as text. Two of them: sqlite_session.cc and
// postgres_session.cc, with the statements that read each store's tables.

#include <memory>
#include <string>
#include <vector>

#include "apps/deadman/store_url.h"
#include "deadman/base/result.h"

namespace deadman::chaos::internal {

using TextRow = std::vector<std::string>;
using TextRows = std::vector<TextRow>;

class SqlSession {
  public:
    virtual ~SqlSession() = default;

    virtual base::Result<TextRows> query(const std::string& sql) = 0;

    /// Does anybody hold a lock now without which nobody can write at all?
    virtual bool is_write_locked() {
        return false;
    }
};

/// Statements that read a store's tables. "$queue" stands for the watched queue. Times come out as
/// microseconds since 1970, truth as 0 and 1.
struct ProbeSql {
    const char* totals;   // succeeded, terminal, ended runs, lapsed, released
    const char* sessions; // id, pid, ended, held, started_at, lease_until
    const char* ends;     // job, state, reason
    const char* runs;     // job, fence, session, lapsed, finished_at
};

base::Result<std::unique_ptr<SqlSession>> open_sqlite_session(const std::string& path);
const ProbeSql& sqlite_probe_sql();

base::Result<std::unique_ptr<SqlSession>> open_postgres_session(const std::string& url);
const ProbeSql& postgres_probe_sql();

/// invalid_argument for a store that lives in one process only.
base::Result<std::unique_ptr<SqlSession>> open_session(const StoreUrl& url);
const ProbeSql& probe_sql(const StoreUrl& url);

} // namespace deadman::chaos::internal
