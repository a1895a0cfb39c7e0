#pragma once
// Questions about jobs and queues.
//
// REQUIRES (all): within a read transaction, where more than one statement is to see one state.

#include <optional>
#include <vector>

#include "deadman/store/job_query.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

std::optional<JobRecord> find_job(Connection& db, domain::JobId id);
std::vector<RunRecord> list_runs(Connection& db, domain::JobId id);
base::Result<JobPage> list_jobs(Connection& db, const JobFilter& filter);
std::int64_t count_outstanding(Connection& db);
std::vector<QueueRecord> list_queues(Connection& db);

} // namespace deadman::store::sqlite
