#pragma once
// What operators do to jobs and queues: cancel, retry, remove, pause.

#include <string_view>

#include "deadman/store/job_types.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

/// REQUIRES (all): within a write transaction.
CancelAnswer cancel_job(WriteContext& context, domain::JobId id);
base::Status retry_job(WriteContext& context, domain::JobId id);
base::Status remove_job(WriteContext& context, domain::JobId id);
void set_paused(WriteContext& context, std::string_view queue, bool paused);

/// A finished job, with its runs.
void forget_job(WriteContext& context, domain::JobId id);

} // namespace deadman::store::sqlite
