#include "deadman/client/api_client.h"

#include "deadman/client/internal/record_reader.h"
#include "deadman/client/internal/transport.h"

namespace deadman::client {
namespace {

using base::ErrorCode;

/// What the caller should do about an answer that is a refusal.
ErrorCode code_of(int status, const std::string& problem_code) {
    if (problem_code == "outcome_unknown")
        return ErrorCode::outcome_unknown;
    if (problem_code == "idempotency_key_reused")
        return ErrorCode::conflict;
    switch (status) {
    case 404:
        return ErrorCode::not_found;
    case 409:
        return ErrorCode::conflict;
    case 429:
        return ErrorCode::exhausted;
    case 502:
    case 503:
    case 504:
        return ErrorCode::unavailable;
    default:
        return status >= 400 && status < 500 ? ErrorCode::invalid_argument : ErrorCode::internal;
    }
}

std::string job_path(domain::JobId id) {
    return "/v1/jobs/" + std::to_string(id.value);
}

} // namespace

class ApiClient::Connection {
  public:
    explicit Connection(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

    /// A reply of 2xx.
    base::Result<Reply> ask(const Call& call) {
        failure = {};
        auto reply = transport_->exchange(call, failure.unreachable);
        if (!reply)
            return reply.error();
        if (reply->status >= 200 && reply->status < 300)
            return reply;
        const ReadProblem problem = read_problem(reply->body);
        failure = {false, reply->status, problem.code, reply->request_id};
        const std::string detail =
            problem.detail.empty()
                ? "the server answered with HTTP status " + std::to_string(reply->status)
                : problem.detail;
        return base::fail(code_of(reply->status, problem.code), detail);
    }

    Failure failure;

  private:
    std::unique_ptr<Transport> transport_;
};

ApiClient::ApiClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

ApiClient::~ApiClient() = default;

base::Result<std::unique_ptr<ApiClient>> ApiClient::create(const ClientOptions& options) {
    DEADMAN_TRY(auto transport, Transport::create(options));
    return std::unique_ptr<ApiClient>(
        new ApiClient(std::make_unique<Connection>(std::move(transport))));
}

const Failure& ApiClient::last_failure() const {
    return connection_->failure;
}

base::Result<EnqueuedJobs> ApiClient::enqueue(std::span<const domain::JobSpec> specs) {
    DEADMAN_TRY(const Reply reply,
                connection_->ask({"POST", "/v1/jobs:batch", write_batch(specs)}));
    DEADMAN_TRY(EnqueuedJobs enqueued, read_enqueued(reply.body));
    if (enqueued.jobs.size() != specs.size())
        return base::fail(ErrorCode::internal, "the server answered for " +
                                                   std::to_string(enqueued.jobs.size()) +
                                                   " jobs of " + std::to_string(specs.size()));
    return enqueued;
}

base::Result<std::optional<JobWithRuns>> ApiClient::find(domain::JobId id) {
    const auto reply = connection_->ask({"GET", job_path(id), ""});
    if (!reply && reply.error().code == ErrorCode::not_found)
        return std::optional<JobWithRuns>();
    if (!reply)
        return reply.error();
    DEADMAN_TRY(JobWithRuns found, read_job_with_runs(reply->body));
    return std::optional(std::move(found));
}

base::Result<ListedJobs> ApiClient::list(const store::JobFilter& filter,
                                         const std::string& cursor) {
    DEADMAN_TRY(const Reply reply,
                connection_->ask({"GET", "/v1/jobs" + write_query(filter, cursor), ""}));
    return read_job_page(reply.body);
}

base::Result<store::CancelAnswer> ApiClient::cancel(domain::JobId id) {
    const auto reply = connection_->ask({"POST", job_path(id) + ":cancel", "{}"});
    if (reply)
        return reply->status == 202 ? store::CancelAnswer::requested
                                    : store::CancelAnswer::cancelled;
    if (reply.error().code == ErrorCode::not_found)
        return store::CancelAnswer::not_found;
    if (last_failure().code == "already_finished")
        return store::CancelAnswer::already_finished;
    return reply.error();
}

base::Status ApiClient::change(const std::string& method, const std::string& path) {
    DEADMAN_TRY_STATUS(connection_->ask({method, path, method == "POST" ? "{}" : ""}));
    return {};
}

base::Status ApiClient::retry(domain::JobId id) {
    return change("POST", job_path(id) + ":retry");
}

base::Status ApiClient::remove(domain::JobId id) {
    return change("DELETE", job_path(id));
}

base::Result<std::vector<store::QueueRecord>> ApiClient::queues() {
    DEADMAN_TRY(const Reply reply, connection_->ask({"GET", "/v1/queues", ""}));
    return read_queues(reply.body);
}

base::Status ApiClient::pause_queue(const std::string& queue) {
    return change("POST", "/v1/queues/" + percent_encoded(queue) + ":pause");
}

base::Status ApiClient::resume_queue(const std::string& queue) {
    return change("POST", "/v1/queues/" + percent_encoded(queue) + ":resume");
}

base::Result<std::vector<store::SessionRecord>> ApiClient::sessions() {
    DEADMAN_TRY(const Reply reply, connection_->ask({"GET", "/v1/workers?all=true", ""}));
    return read_sessions(reply.body);
}

base::Result<ServerVersion> ApiClient::version() {
    DEADMAN_TRY(const Reply reply, connection_->ask({"GET", "/v1/version", ""}));
    return read_version(reply.body);
}

} // namespace deadman::client
