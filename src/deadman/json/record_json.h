#pragma once
// The store's records as the API's JSON. The same for everybody who prints them: one shape, stable.
//
// Contract:      payloads and results stand in it byte for byte. Every member is always there; what
// is
//                not known is null.

#include <span>
#include <string>
#include <string_view>

#include "deadman/store/job_query.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::json {

std::string job_json(const store::JobRecord& job);

/// With a member `runs`.
std::string job_json(const store::JobRecord& job, std::span<const store::RunRecord> runs);

std::string queue_json(const store::QueueRecord& queue);
std::string worker_json(const store::SessionRecord& worker);

/// {"items":[...]}
std::string queues_json(std::span<const store::QueueRecord> queues);
std::string workers_json(std::span<const store::SessionRecord> workers);

/// {"items":[...],"next_cursor":...,"has_more":...}
std::string page_json(std::span<const std::string> items, std::string_view next_cursor);
std::string jobs_json(std::span<const store::JobRecord> jobs, std::string_view next_cursor);

/// What an enqueue of one job is answered with: a warning for each kind that no live worker
/// announces.
std::string enqueued_json(const store::Enqueued& enqueued,
                          std::span<const std::string> unannounced_kinds);

} // namespace deadman::json
