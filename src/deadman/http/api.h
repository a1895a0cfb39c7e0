#pragma once
// Api: every route, and what all of them have in common: who may ask, how errors are answered, what
// is counted and logged. It knows nothing of sockets.
//
// Contract:      no exception leaves it. Every answer has an X-Request-Id.
// Thread-safety: safe for concurrent use.
// Blocking:      admit() never; run() waits for the store where the route says so.
// Ownership:     what is in the surroundings must outlive it.

#include <atomic>
#include <string>
#include <variant>

#include "deadman/base/clock.h"
#include "deadman/http/job_routes.h"
#include "deadman/http/request_guard.h"
#include "deadman/http/router.h"
#include "deadman/http/store_watch.h"
#include "deadman/http/system_routes.h"
#include "deadman/store/job_store.h"
#include "deadman/telemetry/log.h"
#include "deadman/telemetry/metrics.h"

namespace deadman::http {

struct ApiOptions {
    std::string version;
    GuardOptions guard;
    domain::PayloadLimits payload_limits;
};

struct ApiSurroundings {
    store::JobStore& store;
    base::Clock& clock;
    telemetry::Metrics& metrics;
    telemetry::Log& log;
    const StoreWatch& watch;
};

class Api {
  public:
    Api(const ApiOptions& options, ApiSurroundings surroundings);

    /// Gives the request its id, and finds what is to be done: an answer at once, or a route to
    /// run.
    std::variant<Response, Match> admit(Request& request);

    /// REQUIRES: `match` is from admit() of the same request.
    Response run(const Request& request, const Match& match);

    /// Answers in place of run().
    Response refuse(const Request& request, const Match& match, const Problem& problem);

    /// From now on /readyz says no.
    void begin_drain() {
        draining_ = true;
    }

    std::size_t max_body_bytes() const {
        return jobs_.max_body_bytes();
    }

  private:
    Checked<Match> find(const Request& request) const;
    Checked<Response> call(const Request& request, const Match& match);
    Response finish(const Request& request, std::string_view route, Response response);

    ApiSurroundings surroundings_;
    std::atomic<bool> draining_{false};
    RequestGuard guard_;
    JobRoutes jobs_;
    SystemRoutes system_;
    Router router_;
};

} // namespace deadman::http
