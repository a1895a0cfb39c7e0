#pragma once
// Leader: leadership over an advisory lock on a connection of its own and an expiring row.

#include <memory>
#include <optional>
#include <string>

#include "deadman/store/job_store.h"
#include "deadman/store/postgres/internal/connection.h"
#include "deadman/store/postgres/internal/retention.h"

namespace deadman::store::postgres {

class Store;

class Leader final : public Leadership {
  public:
    /// Nothing while another leads.
    static base::Result<std::unique_ptr<Leadership>> try_lead(Store& store);

    ~Leader() override;

    base::Result<UpkeepReport> sweep(const UpkeepRequest& request) override;

  private:
    Leader(Store& store, std::string name);

    /// Tries to get the lock where it is not held; a broken connection has lost it.
    void ensure_lock();
    base::Result<bool> keep(base::Duration sweep);
    base::Status tick(const UpkeepRequest& request, UpkeepReport& report);
    base::Status reap(const UpkeepRequest& request, UpkeepReport& report);
    base::Status move_jobs(const UpkeepRequest& request, UpkeepReport& report);
    base::Status prune(const UpkeepRequest& request, UpkeepReport& report);

    struct Tick {
        std::int64_t at_us = 0;
        base::SteadyTime steady;
    };

    Store& store_;
    const std::string name_;
    std::unique_ptr<Connection> connection_; // nothing: not connected, so the lock is not held
    bool has_lock_ = false;
    std::optional<Tick> last_tick_;
    Retention retention_;
};

} // namespace deadman::store::postgres
