#pragma once
// Why a job is where it is, in plain sentences. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/deadman/local_time.h"
#include "deadman/store/job_query.h"
#include "deadman/store/session.h"

namespace deadman::cli {

/// What is known of a job's surroundings.
struct Surroundings {
    std::vector<store::QueueRecord> queues;
    std::vector<store::SessionRecord> sessions;
    base::TimePoint now; // the caller's: roughly the store's
};

/// Sessions that have not ended and whose lease is not over.
bool is_live(const store::SessionRecord& session, base::TimePoint now);
bool is_announced(const std::vector<store::SessionRecord>& sessions, std::string_view kind,
                  base::TimePoint now);

std::vector<std::string> explain_job(const store::JobRecord& job, const Surroundings& around,
                                     const LocalTime& time);

/// What the effects of its handler may do. `handler`: "exec", "http", "sql", or empty where this
/// machine's configuration does not have the kind.
std::string explain_effects(std::string_view handler);

} // namespace deadman::cli
