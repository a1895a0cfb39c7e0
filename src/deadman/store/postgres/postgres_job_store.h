#pragma once
// PostgresJobStore: the store over a Postgres server, shared by any number of processes.
//
// Contract:      store/job_store.h. Where a job is says what state it is in (DECISIONS 015); the
// rules of
//                races stand beside the SQL in migrations/.
// Thread-safety: safe for concurrent use, bounded by `connections`.
// Blocking:      every call waits for the server; transact() keeps a connection while its body
// runs. Ownership:     the clock must outlive the store, the store its Leadership objects. Errors:
// as job_store.h. A server that is away gives `unavailable`, and calls recover by themselves.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"

namespace deadman::store {

/// Moves the store's clock in tests: added to the server's clock and to the steady clock of upkeep,
/// or in their place.
struct ClockShift {
    std::atomic<bool> stands_still{false};
    std::atomic<std::int64_t> wall_us{0};
    std::atomic<std::int64_t> steady_us{0};
};

struct PostgresOptions {
    std::string url; // as libpq takes it: postgresql://user@host:port/database, or key=value words
    int connections = 8;         // at most; a session, leadership and wake-ups have one more each
    int effect_connections = 16; // beside those, for handlers' transactions; opened when needed
    base::Duration connect_timeout = std::chrono::seconds(2);
    base::Duration acquire_timeout = std::chrono::seconds(5); // to wait for a free connection
    base::Duration call_timeout =
        std::chrono::seconds(10); // of a server that does not answer; 6 times that for questions
                                  // and upkeep, an hour for migrations and handlers' statements
    base::Duration stall_bound =
        std::chrono::seconds(4); // of a dead client; shrinks to half of a lease
    bool through_pooler =
        false; // no server sessions of our own: no hints of death, no notifications
    std::size_t max_payload_bytes = domain::default_max_payload_bytes;
    std::uint64_t seed = 0;                  // of jitter; 0: from the operating system
    std::shared_ptr<ClockShift> clock_shift; // tests only
};

class PostgresJobStore {
  public:
    /// Connects when it is first used: a server that is away is no reason to fail here. `clock`
    /// measures waits; the server's clock decides. invalid_argument: a URL that cannot be one.
    static base::Result<std::unique_ptr<JobStore>> open(base::Clock& clock,
                                                        const PostgresOptions& options);
};

} // namespace deadman::store
