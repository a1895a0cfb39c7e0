#pragma once
// DirectDrain: a session that claims a batch and completes it, again and again, with nothing
// between.
//
// Thread-safety: external synchronization.
// Ownership:     store and clock must outlive it.

#include <cstdint>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/job_store.h"

namespace deadman::bench {

/// A session of this process, which claims every kind of the benchmarks.
store::SessionSpec direct_session(const std::string& queue);

class DirectDrain {
  public:
    DirectDrain(store::JobStore& store, base::Clock& clock, const std::string& queue, int batch)
        : store_(store), clock_(clock), batch_(batch), queues_{queue} {}

    base::Status open();

    /// Takes up to a batch and completes it: how many ended, 0 where nothing was there.
    base::Result<std::int64_t> step();

    base::Status close();

    /// How long the last claim took.
    base::Duration last_claim() const {
        return last_claim_;
    }

    const std::vector<std::string>& queues() const {
        return queues_;
    }

  private:
    base::Status renew();

    store::JobStore& store_;
    base::Clock& clock_;
    const int batch_;
    const std::vector<std::string> queues_;
    store::Session session_;
    base::SteadyTime renewed_;
    base::Duration last_claim_{};
    std::int64_t claim_no_ = 0;
};

} // namespace deadman::bench
