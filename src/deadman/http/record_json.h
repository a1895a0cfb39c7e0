#pragma once
// The store's records as the API's JSON. The same for everybody who prints them: one shape, stable.
//
// Contract:      payloads and results stand in it byte for byte. Every member is always there; what
// is
//                not known is null.

#include <optional>
#include <span>
#include <string>

#include "deadman/store/job_query.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::http {

std::string job_json(const store::JobRecord& job);

/// With a member `runs`.
std::string job_json(const store::JobRecord& job, std::span<const store::RunRecord> runs);

/// {"items":[...],"next_cursor":...,"has_more":...}
std::string jobs_json(std::span<const store::JobRecord> jobs,
                      const std::optional<std::string>& next_cursor);

std::string queue_json(const store::QueueRecord& queue);
std::string queues_json(std::span<const store::QueueRecord> queues);

std::string worker_json(const store::SessionRecord& worker);
std::string workers_json(std::span<const store::SessionRecord> workers);

} // namespace deadman::http
