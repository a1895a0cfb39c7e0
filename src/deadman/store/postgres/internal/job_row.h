#pragma once
// Rows of deadman.describe and deadman.runs_of as records.

#include <pqxx/pqxx>

#include "deadman/base/result.h"
#include "deadman/store/job_query.h"

namespace deadman::store::postgres {

base::Result<JobRecord> read_job(const pqxx::row& row);
RunRecord read_run(const pqxx::row& row);

} // namespace deadman::store::postgres
