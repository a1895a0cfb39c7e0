#pragma once
// JobRoutes: /v1/jobs and what is below it.
//
// Thread-safety: safe for concurrent use.
// Ownership:     store, clock and metrics must outlive it, and it the router.

#include <chrono>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/domain/payload.h"
#include "deadman/http/job_listing.h"
#include "deadman/http/router.h"
#include "deadman/store/job_store.h"
#include "deadman/telemetry/metrics.h"

namespace deadman::http {

/// The kinds that live workers announce, as of a moment ago.
class AnnouncedKinds {
  public:
    AnnouncedKinds(store::JobStore& store, base::Clock& clock) : store_(store), clock_(clock) {}

    /// Those among the jobs' kinds that no live worker announces. Empty also where it cannot be
    /// told.
    std::set<std::string> unannounced(std::span<const domain::JobSpec> jobs);

  private:
    void refresh();

    store::JobStore& store_;
    base::Clock& clock_;
    std::mutex mutex_;
    std::set<std::string> kinds_; // guarded by mutex_
    bool known_ = false;          // guarded by mutex_
    base::SteadyTime looked_at_;  // guarded by mutex_
};

struct JobRoutesOptions {
    domain::PayloadLimits payload_limits;
    std::string cursor_key;
};

class JobRoutes {
  public:
    JobRoutes(JobRoutesOptions options, store::JobStore& store, base::Clock& clock,
              telemetry::Metrics& metrics);

    void add_to(Router& router);

    /// The longest body of any route.
    std::size_t max_body_bytes() const {
        return max_batch_bytes_;
    }

  private:
    Checked<Response> enqueue(const Request& request);
    Checked<Response> enqueue_batch(const Request& request);
    Checked<Response> list(const Request& request);
    Checked<Response> show(const Request& request, const std::string& id);
    Checked<Response> cancel(const std::string& id);
    Checked<Response> retry(const std::string& id);
    Checked<Response> remove(const std::string& id);

    void count_new(std::span<const domain::JobSpec> jobs, std::span<const store::Enqueued> answers);
    Checked<std::vector<store::Enqueued>> enqueue_all(std::span<const domain::JobSpec> jobs);

    JobRoutesOptions options_;
    store::JobStore& store_;
    base::Clock& clock_;
    telemetry::Metrics& metrics_;
    JobListings listings_;
    AnnouncedKinds kinds_;
    std::size_t max_job_bytes_;
    std::size_t max_batch_bytes_;
};

} // namespace deadman::http
