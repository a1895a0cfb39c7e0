#include "deadman/http/api.h"

#include <algorithm>
#include <exception>

#include "deadman/base/random.h"
#include "deadman/http/internal/digest.h"

namespace deadman::http {
namespace {

constexpr std::size_t longest_request_id = 128;

/// The client's own id if it is a decent one: it goes into the log and into headers.
std::string request_id(const Request& request) {
    const std::string_view given = request.header("x-request-id");
    const bool is_decent = !given.empty() && given.size() <= longest_request_id &&
                           std::all_of(given.begin(), given.end(), [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                      (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                           });
    return is_decent ? std::string(given) : base::random_hex(8);
}

/// Servers that share a token understand each other's cursors, also after a restart. A cursor
/// grants nothing: the signature tells a damaged or a foreign one, and keeps no secret.
std::string cursor_key(const std::string& token) {
    return sha256("deadman cursor 1\n" + token);
}

Problem too_large(std::size_t most) {
    return {413, "too_large", "the body may have at most " + std::to_string(most) + " bytes here",
            {},  {},          {}};
}

} // namespace

Api::Api(const ApiOptions& options, ApiSurroundings surroundings)
    : surroundings_(surroundings), guard_(options.guard),
      jobs_({options.payload_limits, cursor_key(options.guard.token)}, surroundings.store,
            surroundings.clock, surroundings.metrics),
      system_(options.version, {surroundings.store, surroundings.clock, surroundings.metrics,
                                surroundings.watch, draining_}) {
    jobs_.add_to(router_);
    system_.add_to(router_);
}

Checked<Match> Api::find(const Request& request) const {
    if (auto problem = guard_.check_sender(request))
        return std::move(*problem);
    auto match = router_.match(request);
    if (!match)
        return match;
    if (auto problem = guard_.check_access(request, match->route->access))
        return std::move(*problem);
    if (request.body.size() > match->route->max_body_bytes)
        return too_large(match->route->max_body_bytes);
    if (match->route->runs_on == RunsOn::pool && match->route->needs_store &&
        !surroundings_.watch.is_up())
        return Problem{
            503, "unavailable",           "the store is away: nothing was done, try again",
            {},  std::chrono::seconds(1), {}};
    return match;
}

std::variant<Response, Match> Api::admit(Request& request) {
    request.id = request_id(request);
    auto match = find(request);
    if (!match)
        return finish(request, "none", render(match.error(), request.id));
    if (match->route->runs_on == RunsOn::event_loop)
        return run(request, *match);
    return std::move(*match);
}

Checked<Response> Api::call(const Request& request, const Match& match) {
    try {
        return match.route->handle(request, match.argument);
    } catch (const std::exception& error) {
        surroundings_.log.error(
            "http_handler_threw",
            {{"request_id", request.id}, {"route", match.route->pattern}, {"what", error.what()}});
        return problem_of(base::fail(base::ErrorCode::internal, error.what()));
    }
}

Response Api::run(const Request& request, const Match& match) {
    const base::SteadyTime began = surroundings_.clock.steady_now();
    auto answer = call(request, match);
    surroundings_.metrics
        .histogram(telemetry::metric::http_request_seconds, {{"route", match.route->pattern}})
        .observe(surroundings_.clock.steady_now() - began);
    if (!answer)
        return refuse(request, match, answer.error());
    return finish(request, match.route->pattern, std::move(*answer));
}

Response Api::refuse(const Request& request, const Match& match, const Problem& problem) {
    if (problem.status >= 500)
        surroundings_.log.warn("http_request_failed", {{"request_id", request.id},
                                                       {"route", match.route->pattern},
                                                       {"status", problem.status},
                                                       {"detail", problem.detail}});
    return finish(request, match.route->pattern, render(problem, request.id));
}

Response Api::finish(const Request& request, std::string_view route, Response response) {
    surroundings_.metrics
        .counter(telemetry::metric::http_requests_total,
                 {{"route", std::string(route)}, {"status", std::to_string(response.status)}})
        .increment();
    response.headers.emplace_back("X-Request-Id", request.id);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

} // namespace deadman::http
