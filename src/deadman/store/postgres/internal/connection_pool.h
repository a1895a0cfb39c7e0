#pragma once
// ConnectionPool: at most N connections, opened when needed, kept while they work.
//
// Thread-safety: safe for concurrent use.
// Blocking:      acquire waits for a free connection up to its timeout, and for the server to be
// reached. Errors:        exhausted: no connection came free in time. unavailable: the server is
// away; asked again
//                only after a growing pause, so that callers fail at once meanwhile.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/postgres/internal/connection.h"

namespace deadman::store::postgres {

class ConnectionPool {
  public:
    /// A connection of the pool for one use; goes back when destroyed, unless discarded.
    class Lent {
      public:
        Lent(ConnectionPool& pool, std::unique_ptr<Connection> connection);
        Lent(Lent&& other) noexcept = default;
        Lent& operator=(Lent&&) = delete;
        ~Lent();

        Connection& operator*() {
            return *connection_;
        }

        Connection* operator->() {
            return connection_.get();
        }

        /// It broke: it does not go back.
        void discard();

        /// The same at the end of this use.
        void discard_later() {
            spent_ = true;
        }

      private:
        ConnectionPool* pool_;
        std::unique_ptr<Connection> connection_;
        bool spent_ = false;
    };

    ConnectionPool(base::Clock& clock, const ConnectionSettings& settings, int most,
                   base::Duration acquire_timeout);

    base::Result<Lent> acquire();

  private:
    base::Result<std::unique_ptr<Connection>> take_idle_or_slot();
    base::Result<std::unique_ptr<Connection>> connect();
    void give_back(std::unique_ptr<Connection> connection);

    base::Clock& clock_;
    const ConnectionSettings& settings_;
    const int most_;
    const base::Duration acquire_timeout_;
    std::mutex mutex_;
    std::condition_variable freed_;
    std::vector<std::unique_ptr<Connection>> idle_; // guarded by mutex_, as all below
    int out_ = 0;
    base::Duration pause_{};
    base::SteadyTime not_before_{};
    std::string last_failure_;
};

} // namespace deadman::store::postgres
