#include "deadman/http/system_routes.h"

#include <array>

#include "deadman/http/internal/json_writer.h"
#include "deadman/http/query.h"
#include "deadman/json/record_json.h"

namespace deadman::http {
namespace {

constexpr base::Duration gauges_stay_fresh = std::chrono::seconds(3);

Checked<void> no_query(const Request& request) {
    const auto query = Query::parse(request.query, {});
    return query ? Checked<void>() : Checked<void>(query.error());
}

Response json(std::string body) {
    return {200, "application/json", std::move(body), {}};
}

Response plain(int status, std::string body) {
    return {status, "text/plain; charset=utf-8", std::move(body), {}};
}

Checked<void> check_queue_name(const std::string& queue) {
    if (auto valid = domain::validate_queue_name(queue); !valid)
        return invalid_parameter("name", valid.error().message);
    return {};
}

struct Check {
    std::string name;
    bool passed = false;
    std::string message;
};

std::vector<Check> readiness_checks(const StoreHealth& health, bool draining) {
    std::vector<Check> checks{
        {"draining", !draining, draining ? "the server is leaving" : "no"},
        {"store", health.is_up, health.is_up ? "reachable" : "not reachable"}};
    for (const store::Finding& finding : health.findings)
        checks.push_back(
            {finding.name, finding.severity != store::Finding::Severity::problem, finding.message});
    return checks;
}

} // namespace

SystemRoutes::SystemRoutes(std::string version, SystemSurroundings surroundings)
    : version_(std::move(version)), started_at_(surroundings.clock.now()),
      surroundings_(surroundings) {
    surroundings_.metrics.gauge(telemetry::metric::build_info, {{"version", version_}}).set(1);
}

void SystemRoutes::add_to(Router& router) {
    add_queue_routes(router);
    router.add({.method = "GET",
                .pattern = "/v1/workers",
                .handle = [this](const Request& request, const std::string&) {
                    return workers(request);
                }});
    router.add({.method = "GET",
                .pattern = "/v1/version",
                .runs_on = RunsOn::event_loop,
                .handle = [this](const Request& request, const std::string&) {
                    return version(request);
                }});
    router.add({.method = "GET",
                .pattern = "/openapi.json",
                .access = {.needs_token = false},
                .runs_on = RunsOn::event_loop,
                .handle = [](const Request&, const std::string&) {
                    return Checked<Response>(json(std::string(openapi_text())));
                }});
    add_health_routes(router);
}

void SystemRoutes::add_queue_routes(Router& router) {
    const RouteAccess writing{.changes_state = true, .has_body = true};
    router.add(
        {.method = "GET",
         .pattern = "/v1/queues",
         .handle = [this](const Request& request, const std::string&) { return queues(request); }});
    for (const bool paused : {true, false}) {
        router.add({.method = "POST",
                    .pattern = paused ? "/v1/queues/{name}:pause" : "/v1/queues/{name}:resume",
                    .access = writing,
                    .handle = [this, paused](const Request& request,
                                             const std::string& name) -> Checked<Response> {
                        if (auto none = no_query(request); !none)
                            return none.error();
                        return set_paused(name, paused);
                    }});
    }
}

void SystemRoutes::add_health_routes(Router& router) {
    router.add({.method = "GET",
                .pattern = "/livez",
                .access = {.needs_token = false},
                .runs_on = RunsOn::event_loop,
                .handle = [](const Request&, const std::string&) {
                    return Checked<Response>(plain(200, "ok\n"));
                }});
    router.add(
        {.method = "GET",
         .pattern = "/readyz",
         .access = {.needs_token = false},
         .runs_on = RunsOn::event_loop,
         .handle = [this](const Request& request, const std::string&) { return ready(request); }});
    router.add({.method = "GET",
                .pattern = "/metrics",
                .needs_store = false,
                .handle = [this](const Request&, const std::string&) { return metrics(); }});
}

Checked<Response> SystemRoutes::queues(const Request& request) {
    if (auto none = no_query(request); !none)
        return none.error();
    const auto queues = checked(surroundings_.store.queues());
    if (!queues)
        return queues.error();
    return json(json::queues_json(*queues));
}

Checked<Response> SystemRoutes::set_paused(const std::string& queue, bool paused) {
    if (auto valid = check_queue_name(queue); !valid)
        return valid.error();
    auto done = checked(paused ? surroundings_.store.pause_queue(queue)
                               : surroundings_.store.resume_queue(queue));
    if (!done)
        return done.error();
    JsonText text;
    text.top().text("name", queue).boolean("paused", paused);
    return json(text.str());
}

Checked<Response> SystemRoutes::workers(const Request& request) {
    static constexpr std::array<std::string_view, 1> known{"all"};
    const auto query = Query::parse(request.query, known);
    if (!query)
        return query.error();
    const std::string all = query->value("all");
    if (query->has("all") && all != "true" && all != "false")
        return invalid_parameter("all", "must be true or false");
    auto sessions = checked(surroundings_.store.sessions());
    if (!sessions)
        return sessions.error();
    if (all != "true")
        std::erase_if(*sessions, [](const store::SessionRecord& session) {
            return session.ended_at.has_value();
        });
    return json(json::workers_json(*sessions));
}

Checked<Response> SystemRoutes::version(const Request& request) const {
    if (auto none = no_query(request); !none)
        return none.error();
    JsonText text;
    text.top()
        .text("version", version_)
        .text("api", "v1")
        .text("store", surroundings_.store.name())
        .time("started_at", started_at_);
    return json(text.str());
}

Checked<Response> SystemRoutes::ready(const Request& request) const {
    static constexpr std::array<std::string_view, 1> known{"verbose"};
    const auto query = Query::parse(request.query, known);
    if (!query)
        return query.error();
    std::string listed;
    bool passed = true;
    for (const Check& check :
         readiness_checks(surroundings_.watch.health(), surroundings_.draining)) {
        passed = passed && check.passed;
        listed += (check.passed ? "ok   " : "FAIL ") + check.name + ": " + check.message + "\n";
    }
    const std::string verdict = passed ? "ready\n" : "not ready\n";
    return plain(passed ? 200 : 503, query->has("verbose") ? listed + verdict : verdict);
}

void SystemRoutes::refresh_gauges() {
    const std::lock_guard lock(gauges_mutex_);
    const base::SteadyTime now = surroundings_.clock.steady_now();
    if ((gauges_known_ && now - gauges_read_at_ < gauges_stay_fresh) ||
        !surroundings_.watch.is_up())
        return;
    gauges_read_at_ = now;
    const auto queues = surroundings_.store.queues();
    gauges_known_ = queues.has_value();
    if (!queues)
        return;
    const base::TimePoint wall = surroundings_.store.now().value_or(surroundings_.clock.now());
    for (const store::QueueRecord& queue : *queues) {
        const auto set = [&](const char* state, std::int64_t count) {
            surroundings_.metrics
                .gauge(telemetry::metric::jobs, {{"queue", queue.name}, {"state", state}})
                .set(static_cast<double>(count));
        };
        set("pending", queue.pending);
        set("scheduled", queue.scheduled);
        set("running", queue.running);
        const base::Duration age =
            queue.oldest_pending ? wall - *queue.oldest_pending : base::Duration{};
        surroundings_.metrics
            .gauge(telemetry::metric::queue_oldest_waiting_seconds, {{"queue", queue.name}})
            .set(std::max(0.0, std::chrono::duration<double>(age).count()));
    }
}

Checked<Response> SystemRoutes::metrics() {
    refresh_gauges();
    return Response{
        200, "text/plain; version=0.0.4; charset=utf-8", surroundings_.metrics.render(), {}};
}

} // namespace deadman::http
