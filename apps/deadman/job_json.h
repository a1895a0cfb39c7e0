#pragma once
// Jobs, runs, queues and workers as JSON: the API's own shape. Pure.

#include <span>
#include <string>

#include "apps/deadman/json_text.h"
#include "deadman/store/job_query.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::cli {

/// With the payload and the result byte for byte.
std::string job_json(const store::JobRecord& job);

/// The same with its runs, oldest first.
std::string job_json(const store::JobRecord& job, std::span<const store::RunRecord> runs);

std::string queue_json(const store::QueueRecord& queue);
std::string worker_json(const store::SessionRecord& session);
/// With a warning for each kind that no live worker announces.
std::string enqueued_json(const store::Enqueued& enqueued,
                          std::span<const std::string> unannounced_kinds);

/// {"items": [...], "next_cursor": ..., "has_more": ...}
std::string page_json(std::span<const std::string> items, const std::string& next_cursor);

} // namespace deadman::cli
