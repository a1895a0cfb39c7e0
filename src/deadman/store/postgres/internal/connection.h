#pragma once
// Connection: one connection to the server, with what the store needs set on it.
//
// Thread-safety: external synchronization.
// Errors:        throws the driver's exceptions; translate_failure turns them into codes.

#include <atomic>
#include <memory>
#include <string>
#include <unordered_set>

#include <pqxx/pqxx>

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/store/postgres/internal/call_watch.h"
#include "deadman/store/postgres/postgres_job_store.h"

namespace deadman::store::postgres {

/// How long the server may take to answer before it counts as gone.
enum class Pace {
    quick,     // as many rows as one call has: PostgresOptions::call_timeout
    slow,      // counts, lists, upkeep: six times that
    unhurried, // migrations, and what handlers do in their transactions: an hour
};

/// Named so that it is prepared once per connection. One object per statement: its address is its
/// identity.
struct Statement {
    const char* name;
    const char* sql;
    Pace pace = Pace::quick;
};

/// What connections are opened with. The bound on stalls only shrinks: to below the shortest lease
/// seen.
struct ConnectionSettings {
    ConnectionSettings(const PostgresOptions& options, base::Clock& clock);

    void bound_stalls(base::Duration bound);

    base::Duration patience(Pace pace) const;

    const std::string url;
    const base::Duration connect_timeout;
    const bool through_pooler;
    const std::shared_ptr<ClockShift> shift;
    const base::Duration call_timeout;
    std::atomic<std::int64_t> stall_bound_ms;
    const std::unique_ptr<CallWatch> watch;
};

class Connection {
  public:
    explicit Connection(const ConnectionSettings& settings);

    /// Brings the session's settings up to date; asks the server only where they changed.
    void prepare_for_use();

    /// False where the server has closed it meanwhile.
    bool is_alive();

    /// One statement that commits by itself.
    pqxx::result query(const Statement& statement, const pqxx::params& parameters);

    /// One statement of an open transaction. REQUIRES: the transaction is watched.
    pqxx::result query(pqxx::transaction_base& transaction, const Statement& statement,
                       const pqxx::params& parameters);

    /// Whoever uses raw() for more than one call keeps one of these meanwhile.
    CallWatch::Guard watch(Pace pace) {
        return {*settings_.watch, connection_.sock(), settings_.patience(pace)};
    }

    base::Duration patience(Pace pace) const {
        return settings_.patience(pace);
    }

    pqxx::connection& raw() {
        return connection_;
    }

  private:
    void run(const std::string& sql);
    void apply_shift(const ClockShift& clock);

    const ConnectionSettings& settings_;
    pqxx::connection connection_;
    std::unordered_set<const Statement*> prepared_;
    std::int64_t applied_shift_us_ = 0;
    std::int64_t applied_bound_ms_ = 0;
};

/// invalid_argument where libpq could make no sense of it.
base::Status check_url(const std::string& url);

} // namespace deadman::store::postgres
