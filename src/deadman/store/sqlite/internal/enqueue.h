#pragma once
// Enqueue.

#include <span>
#include <vector>

#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"
#include "deadman/store/job_types.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

/// What can be told without the database.
base::Status check_specs(std::span<const domain::JobSpec> specs,
                         const domain::PayloadLimits& limits, base::TimePoint now);

/// REQUIRES: within a write transaction, which is rolled back on an error.
base::Result<std::vector<Enqueued>> enqueue_jobs(WriteContext& context,
                                                 std::span<const domain::JobSpec> specs);

} // namespace deadman::store::sqlite
