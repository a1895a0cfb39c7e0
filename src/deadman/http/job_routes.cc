#include "deadman/http/job_routes.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "deadman/http/internal/json_writer.h"
#include "deadman/http/job_input.h"
#include "deadman/http/query.h"
#include "deadman/json/record_json.h"

namespace deadman::http {
namespace {

constexpr std::size_t envelope_bytes = 64 << 10;
constexpr std::size_t least_batch_bytes = 32 << 20;
constexpr base::Duration kinds_stay_known = std::chrono::seconds(2);

Checked<domain::JobId> read_id(const std::string& text) {
    std::int64_t id = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number)
        return invalid_parameter("id", "must be a decimal number");
    if (error != std::errc() || end != text.data() + text.size())
        return Problem{404, "not_found", "there is no job with that id", {}, {}, {}};
    return domain::JobId{id};
}

Checked<void> no_query(const Request& request) {
    const auto query = Query::parse(request.query, {});
    return query ? Checked<void>() : Checked<void>(query.error());
}

void fill(JsonObject out, const store::Enqueued& enqueued) {
    out.id("id", enqueued.id)
        .boolean("is_new", enqueued.is_new)
        .boolean("replayed", enqueued.replayed);
}

void add_warnings(JsonObject out, const std::set<std::string>& kinds) {
    JsonArray warnings = out.array("warnings");
    for (const std::string& kind : kinds)
        warnings.object()
            .text("code", "kind_not_announced")
            .text("kind", kind)
            .text("message", "no live worker announces this kind: the job waits for one");
}

Response enqueued_response(std::span<const store::Enqueued> answers, std::string body) {
    const bool any_new = std::any_of(answers.begin(), answers.end(),
                                     [](const store::Enqueued& one) { return one.is_new; });
    const bool all_replayed = std::all_of(answers.begin(), answers.end(),
                                          [](const store::Enqueued& one) { return one.replayed; });
    Response response{any_new ? 201 : 200, "application/json", std::move(body), {}};
    if (all_replayed)
        response.headers.emplace_back("Idempotency-Replayed", "true");
    return response;
}

Response state_response(int status, domain::JobId id, std::string_view outcome) {
    JsonText text;
    text.top().id("id", id).text("outcome", outcome);
    return {status, "application/json", text.str(), {}};
}

} // namespace

std::set<std::string> AnnouncedKinds::unannounced(std::span<const domain::JobSpec> jobs) {
    const std::lock_guard lock(mutex_);
    if (!known_ || clock_.steady_now() - looked_at_ > kinds_stay_known)
        refresh();
    std::set<std::string> kinds;
    for (const domain::JobSpec& job : jobs) {
        if (known_ && !kinds_.contains(job.kind))
            kinds.insert(job.kind);
    }
    return kinds;
}

void AnnouncedKinds::refresh() {
    looked_at_ = clock_.steady_now();
    const auto sessions = store_.sessions();
    known_ = sessions.has_value();
    kinds_.clear();
    if (!known_)
        return;
    for (const store::SessionRecord& session : *sessions) {
        if (!session.ended_at)
            kinds_.insert(session.kinds.begin(), session.kinds.end());
    }
}

JobRoutes::JobRoutes(JobRoutesOptions options, store::JobStore& store, base::Clock& clock,
                     telemetry::Metrics& metrics)
    : options_(std::move(options)), store_(store), clock_(clock), metrics_(metrics),
      listings_(options_.cursor_key), kinds_(store, clock),
      max_job_bytes_(options_.payload_limits.max_bytes + envelope_bytes),
      max_batch_bytes_(std::max(least_batch_bytes, max_job_bytes_ + envelope_bytes)) {}

void JobRoutes::add_to(Router& router) {
    const RouteAccess reading{};
    const RouteAccess writing{.changes_state = true, .has_body = true};
    const RouteAccess deleting{.changes_state = true};
    router.add({.method = "POST",
                .pattern = "/v1/jobs",
                .access = writing,
                .max_body_bytes = max_job_bytes_,
                .handle = [this](const Request& request, const std::string&) {
                    return enqueue(request);
                }});
    router.add({.method = "POST",
                .pattern = "/v1/jobs:batch",
                .access = writing,
                .max_body_bytes = max_batch_bytes_,
                .handle = [this](const Request& request, const std::string&) {
                    return enqueue_batch(request);
                }});
    router.add(
        {.method = "GET",
         .pattern = "/v1/jobs",
         .access = reading,
         .handle = [this](const Request& request, const std::string&) { return list(request); }});
    router.add({.method = "GET",
                .pattern = "/v1/jobs/{id}",
                .access = reading,
                .handle = [this](const Request& request, const std::string& id) {
                    return show(request, id);
                }});
    const auto on_one = [&](const char* method, const char* pattern, const RouteAccess& access,
                            Checked<Response> (JobRoutes::*act)(const std::string&)) {
        router.add({.method = method,
                    .pattern = pattern,
                    .access = access,
                    .handle = [this, act](const Request& request,
                                          const std::string& id) -> Checked<Response> {
                        if (auto none = no_query(request); !none)
                            return none.error();
                        return (this->*act)(id);
                    }});
    };
    on_one("POST", "/v1/jobs/{id}:cancel", writing, &JobRoutes::cancel);
    on_one("POST", "/v1/jobs/{id}:retry", writing, &JobRoutes::retry);
    on_one("DELETE", "/v1/jobs/{id}", deleting, &JobRoutes::remove);
}

void JobRoutes::count_new(std::span<const domain::JobSpec> jobs,
                          std::span<const store::Enqueued> answers) {
    std::map<std::string, int> by_queue;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        by_queue[jobs[i].queue] += answers[i].is_new ? 1 : 0;
    for (const auto& [queue, count] : by_queue)
        metrics_.counter(telemetry::metric::jobs_enqueued_total, {{"queue", queue}}).add(count);
}

Checked<std::vector<store::Enqueued>>
JobRoutes::enqueue_all(std::span<const domain::JobSpec> jobs) {
    auto answers = store_.enqueue(jobs);
    if (answers) {
        count_new(jobs, *answers);
        return std::move(*answers);
    }
    Problem problem = problem_of(answers.error());
    // The only conflict that an enqueue knows of.
    if (answers.error().code == base::ErrorCode::conflict)
        problem.status = 422, problem.code = "idempotency_key_reused";
    return problem;
}

Checked<Response> JobRoutes::enqueue(const Request& request) {
    if (auto none = no_query(request); !none)
        return none.error();
    auto job = read_job(request.body, options_.payload_limits);
    if (!job)
        return job.error();
    if (request.headers.contains("idempotency-key")) {
        auto key = read_idempotency_key(request.header("idempotency-key"));
        if (!key)
            return key.error();
        if (!job->idempotency_key.empty() && job->idempotency_key != *key)
            return invalid_field("/idempotency_key", "invalid",
                                 "the header Idempotency-Key says otherwise");
        job->idempotency_key = std::move(*key);
    }
    const std::span<const domain::JobSpec> jobs(&*job, 1);
    const auto answers = enqueue_all(jobs);
    if (!answers)
        return answers.error();
    const std::set<std::string> unannounced = kinds_.unannounced(jobs);
    Response response = enqueued_response(
        *answers,
        json::enqueued_json(answers->front(), std::vector(unannounced.begin(), unannounced.end())));
    response.headers.emplace_back("Location",
                                  "/v1/jobs/" + std::to_string(answers->front().id.value));
    return response;
}

Checked<Response> JobRoutes::enqueue_batch(const Request& request) {
    if (auto none = no_query(request); !none)
        return none.error();
    auto jobs = read_batch(request.body, options_.payload_limits);
    if (!jobs)
        return jobs.error();
    if (request.headers.contains("idempotency-key")) {
        const auto key = read_idempotency_key(request.header("idempotency-key"));
        if (!key)
            return key.error();
        bind_to_key(*jobs, *key);
    }
    const auto answers = enqueue_all(*jobs);
    if (!answers)
        return answers.error();
    JsonText text;
    JsonArray items = text.top().array("items");
    for (const store::Enqueued& answer : *answers)
        fill(items.object(), answer);
    add_warnings(text.top(), kinds_.unannounced(*jobs));
    return enqueued_response(*answers, text.str());
}

Checked<Response> JobRoutes::list(const Request& request) {
    const auto listing = listings_.read(request.query, clock_.now());
    if (!listing)
        return listing.error();
    const auto page = checked(store_.list(listing->filter));
    if (!page)
        return page.error();
    std::string cursor;
    if (page->next)
        cursor = listings_.cursor(*listing, *page->next);
    return Response{200, "application/json", json::jobs_json(page->jobs, cursor), {}};
}

Checked<Response> JobRoutes::show(const Request& request, const std::string& text) {
    if (auto none = no_query(request); !none)
        return none.error();
    const auto id = read_id(text);
    if (!id)
        return id.error();
    const auto job = checked(store_.find(*id));
    if (!job)
        return job.error();
    if (!*job)
        return Problem{404, "not_found", "there is no job with that id", {}, {}, {}};
    const auto runs = checked(store_.runs(*id));
    if (!runs)
        return runs.error();
    return Response{200, "application/json", json::job_json(**job, *runs), {}};
}

Checked<Response> JobRoutes::cancel(const std::string& text) {
    const auto id = read_id(text);
    if (!id)
        return id.error();
    const auto answer = checked(store_.cancel(*id));
    if (!answer)
        return answer.error();
    switch (*answer) {
    case store::CancelAnswer::cancelled:
        return state_response(200, *id, "cancelled");
    case store::CancelAnswer::requested:
        return state_response(202, *id, "requested");
    case store::CancelAnswer::already_finished:
        return Problem{409, "already_finished", "the job had finished: nothing changed", {}, {},
                       {}};
    case store::CancelAnswer::not_found:
        return Problem{404, "not_found", "there is no job with that id", {}, {}, {}};
    case store::CancelAnswer::unknown:
        break;
    }
    return Problem{503,
                   "unavailable",
                   "nothing was accepted. If the run is in a transaction, its worker has been "
                   "asked to stop it: it "
                   "ends as cancelled unless that commits first. Look at it, or cancel again",
                   {},
                   std::chrono::seconds(1),
                   {}};
}

Checked<Response> JobRoutes::retry(const std::string& text) {
    const auto id = read_id(text);
    if (!id)
        return id.error();
    if (auto done = checked(store_.retry(*id)); !done)
        return done.error();
    return state_response(200, *id, "pending");
}

Checked<Response> JobRoutes::remove(const std::string& text) {
    const auto id = read_id(text);
    if (!id)
        return id.error();
    if (auto done = checked(store_.remove(*id)); !done)
        return done.error();
    return Response{204, "", "", {}};
}

} // namespace deadman::http
