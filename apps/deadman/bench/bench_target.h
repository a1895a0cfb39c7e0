#pragma once
// BenchTarget: the store that is measured, with its schema made. sqlite:auto and postgres:auto are
// throwaway ones; the server behind postgres:auto has the settings of a production server.
//
// Thread-safety: as the store.
// Ownership:     the clock must outlive it; a throwaway store goes with it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/deadman/store_url.h"
#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/job_store.h"
#include "deadman/store/postgres/private_server.h"

namespace deadman::bench {

/// What a server that is measured runs with, Deadman's and everybody else's: durable, with room for
/// the log, "name=value".
std::vector<std::string> server_settings();

class BenchTarget {
  public:
    static base::Result<std::unique_ptr<BenchTarget>> open(const std::string& store_url,
                                                           base::Clock& clock);

    store::JobStore& store() {
        return *store_;
    }

    /// Never automatic.
    const StoreUrl& url() const {
        return url_;
    }

    /// As it was asked for, without a password.
    const std::string& name() const {
        return name_;
    }

    bool is_throwaway() const {
        return server_ || throwaway_;
    }

    bool is_postgres() const {
        return url_.kind == StoreUrl::Kind::postgres;
    }

    /// Lives in this process alone.
    bool is_private() const {
        return url_.kind == StoreUrl::Kind::memory;
    }

    /// Planner statistics as in a steady state, nothing left to write out.
    base::Status settle();

  private:
    BenchTarget() = default;

    std::string name_;
    StoreUrl url_;
    std::optional<store::PrivateServer> server_;
    std::optional<ThrowawayStore> throwaway_;
    std::unique_ptr<store::JobStore> store_;
};

} // namespace deadman::bench
