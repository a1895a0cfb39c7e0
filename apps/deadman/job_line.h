#pragma once
// One line of a bulk enqueue: a JSON object with the fields of a job. Pure.

#include <string_view>

#include "deadman/base/result.h"
#include "deadman/domain/job.h"

namespace deadman::cli {

/// The longest line that is read.
inline constexpr std::size_t longest_line_bytes = 64 << 20;

/// {"kind": "mail.send", "payload": {...}, "queue": ..., "priority": ..., "due" or "delay": ...,
/// "max_attempts": ..., "retry": ..., "timeout": ..., "transactional": ..., "unique_key": ...,
/// "idempotency_key": ...}. The payload keeps its bytes. Unknown fields are refused with a hint.
base::Result<domain::JobSpec> read_job_line(std::string_view line);

} // namespace deadman::cli
