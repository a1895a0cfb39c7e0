#pragma once
// The API's JSON as the store's records, and what is sent as JSON.

#include <span>
#include <string>
#include <string_view>

#include "deadman/base/result.h"
#include "deadman/client/api_client.h"

namespace deadman::client {

base::Result<JobWithRuns> read_job_with_runs(std::string_view json);
base::Result<ListedJobs> read_job_page(std::string_view json);
base::Result<EnqueuedJobs> read_enqueued(std::string_view json);
base::Result<std::vector<store::QueueRecord>> read_queues(std::string_view json);
base::Result<std::vector<store::SessionRecord>> read_sessions(std::string_view json);
base::Result<ServerVersion> read_version(std::string_view json);

/// The code and the sentence of a problem; both empty where it is none.
struct ReadProblem {
    std::string code;
    std::string detail;
};

ReadProblem read_problem(std::string_view json);

/// {"jobs":[...]}
std::string write_batch(std::span<const domain::JobSpec> specs);

/// "?state=failed&limit=50"
std::string write_query(const store::JobFilter& filter, const std::string& cursor);

} // namespace deadman::client
