#pragma once
// Upkeep: one process's part in looking after the store: returning the runs of dead sessions,
// promoting due jobs, sweeping, pruning. Every server and worker has one; they contend, and one
// leads.
//
// Contract:      takes over within about a sweep of a leader's death, and survives any outage of
// the
//                store: it goes on trying, at most once per half sweep.
// Thread-safety: run() once; stop() from any thread.
// Blocking:      run() until stop().
// Ownership:     store, clock, log and observer must outlive it.
// Source:        DECISIONS 024: leadership saves work and decides nothing.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"
#include "deadman/telemetry/log.h"

namespace deadman::scheduler {

struct UpkeepSurroundings {
    store::JobStore& store;
    base::Clock& clock;
    telemetry::Log* log = nullptr;
    std::function<void(const store::UpkeepReport&)> on_sweep = nullptr; // from run()'s thread
};

class Upkeep {
  public:
    Upkeep(store::UpkeepRequest request, UpkeepSurroundings surroundings);

    Upkeep(const Upkeep&) = delete;
    Upkeep& operator=(const Upkeep&) = delete;

    /// Until stop(), or a stop request. Leadership is given up before it returns.
    void run(std::stop_token token = {});
    void stop();

    /// One step: contend, or sweep. What run() does between its waits; for simulations.
    void step();

    bool leads() const {
        return leadership_ != nullptr;
    }

    /// How long to wait between steps: a sweep while leading, half of one while contending.
    base::Duration pause() const;

  private:
    void contend();
    void sweep();
    void tell(const store::UpkeepReport& report);
    void tell_failure(const char* call, const base::Error& error);

    const store::UpkeepRequest request_;
    UpkeepSurroundings surroundings_;
    std::unique_ptr<store::Leadership> leadership_;
    bool failing_ = false;
    bool in_grace_ = false;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false; // guarded by mutex_
};

} // namespace deadman::scheduler
