#pragma once
// ProcessMetrics: what the worker and the upkeep of this process count.
//
// Thread-safety: safe for concurrent use.
// Ownership:     metrics and clock must outlive it.

#include <map>
#include <mutex>

#include "deadman/base/clock.h"
#include "deadman/store/maintenance.h"
#include "deadman/telemetry/metrics.h"
#include "deadman/worker/worker_observer.h"

namespace deadman::cli {

class ProcessMetrics final : public worker::WorkerObserver {
  public:
    ProcessMetrics(telemetry::Metrics& metrics, base::Clock& clock)
        : metrics_(metrics), clock_(clock) {}

    void on_start(const store::Claimed& claimed) override;
    void before_answer(const store::Claimed& claimed, const domain::Answer& answer) override;
    void on_finish(const worker::Report& report) override;
    void on_lease_lost(const worker::Report& report) override;

    void on_sweep(const store::UpkeepReport& report);

  private:
    telemetry::Metrics& metrics_;
    base::Clock& clock_;
    std::mutex mutex_;
    std::map<store::RunKey, base::SteadyTime> started_; // guarded by mutex_
};

} // namespace deadman::cli
