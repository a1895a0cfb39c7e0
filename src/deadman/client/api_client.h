#pragma once
// ApiClient: a server's HTTP API as calls.
//
// Contract:      asks once. A call that may have happened although no answer came ends as
//                outcome_unknown; one that cannot have happened as unavailable.
// Thread-safety: external synchronization.
// Blocking:      every call, up to the options' times.
// Errors:        as store/job_store.h; last_failure() has what else the server said.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/domain/job.h"
#include "deadman/store/job_query.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::client {

struct ClientOptions {
    std::string url = "http://127.0.0.1:7350";
    std::string token; // empty: none is sent
    base::Duration connect_timeout = std::chrono::seconds(3);
    base::Duration timeout = std::chrono::seconds(35); // of one call: beyond the server's own
};

/// About the last call that failed.
struct Failure {
    bool unreachable = false; // nobody answers there
    int status = 0;           // 0: there was no answer
    std::string code;         // the problem's
    std::string request_id;
};

struct EnqueuedJobs {
    std::vector<store::Enqueued> jobs;          // one per spec, in order
    std::vector<std::string> unannounced_kinds; // that no live worker has
};

struct JobWithRuns {
    store::JobRecord job;
    std::vector<store::RunRecord> runs; // oldest first
};

struct ListedJobs {
    std::vector<store::JobRecord> jobs;
    std::string next_cursor; // empty: that was all
};

struct ServerVersion {
    std::string version;
    std::string store;
    base::TimePoint started_at;
};

class ApiClient {
  public:
    /// invalid_argument: not an http:// or https:// URL.
    static base::Result<std::unique_ptr<ApiClient>> create(const ClientOptions& options);
    ~ApiClient();

    ApiClient(const ApiClient&) = delete;
    ApiClient& operator=(const ApiClient&) = delete;

    /// All or none. REQUIRES: 1 to 10,000.
    base::Result<EnqueuedJobs> enqueue(std::span<const domain::JobSpec> specs);

    base::Result<std::optional<JobWithRuns>> find(domain::JobId id);

    /// `filter.after` is not used: `cursor` is what an earlier page gave, for this very filter.
    base::Result<ListedJobs> list(const store::JobFilter& filter, const std::string& cursor);

    base::Result<store::CancelAnswer> cancel(domain::JobId id);
    base::Status retry(domain::JobId id);
    base::Status remove(domain::JobId id);

    base::Result<std::vector<store::QueueRecord>> queues();
    base::Status pause_queue(const std::string& queue);
    base::Status resume_queue(const std::string& queue);

    /// Those that have ended lately, too.
    base::Result<std::vector<store::SessionRecord>> sessions();

    base::Result<ServerVersion> version();

    const Failure& last_failure() const;

  private:
    class Connection;

    explicit ApiClient(std::unique_ptr<Connection> connection);

    base::Status change(const std::string& method, const std::string& path);

    std::unique_ptr<Connection> connection_;
};

} // namespace deadman::client
