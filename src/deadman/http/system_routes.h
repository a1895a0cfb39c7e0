#pragma once
// SystemRoutes: queues, workers, version, health, metrics, the API's own description.
//
// Thread-safety: safe for concurrent use.
// Ownership:     what is in the surroundings must outlive it, and it the router.

#include <atomic>
#include <mutex>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/http/router.h"
#include "deadman/http/store_watch.h"
#include "deadman/store/job_store.h"
#include "deadman/telemetry/metrics.h"

namespace deadman::http {

struct SystemSurroundings {
    store::JobStore& store;
    base::Clock& clock;
    telemetry::Metrics& metrics;
    const StoreWatch& watch;
    const std::atomic<bool>& draining;
};

class SystemRoutes {
  public:
    SystemRoutes(std::string version, SystemSurroundings surroundings);

    void add_to(Router& router);

  private:
    Checked<Response> queues(const Request& request);
    Checked<Response> set_paused(const std::string& queue, bool paused);
    Checked<Response> workers(const Request& request);
    Checked<Response> version(const Request& request) const;
    Checked<Response> ready(const Request& request) const;
    Checked<Response> metrics();

    void add_queue_routes(Router& router);
    void add_health_routes(Router& router);
    void refresh_gauges();

    const std::string version_;
    const base::TimePoint started_at_;
    SystemSurroundings surroundings_;
    std::mutex gauges_mutex_;
    bool gauges_known_ = false;       // guarded by gauges_mutex_
    base::SteadyTime gauges_read_at_; // guarded by gauges_mutex_
};

/// The OpenAPI file, as it stands in docs/.
std::string_view openapi_text();

} // namespace deadman::http
