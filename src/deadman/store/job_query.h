#pragma once
// Questions about jobs, queues and stores, and their answers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/time.h"
#include "deadman/domain/blame.h"
#include "deadman/domain/job.h"
#include "deadman/domain/outcome.h"

namespace deadman::store {

struct JobRecord {
    domain::JobId id;
    domain::JobState state = domain::JobState::pending;
    std::string kind;
    std::string queue;
    int priority = domain::default_priority;
    std::string payload;
    int attempts_spent = 0;
    int max_attempts = domain::default_max_attempts;
    domain::RetryPolicy retry;
    base::Duration timeout{};
    bool transactional = false;
    std::string unique_key;
    domain::Blame blame;
    int snoozes = 0;
    bool cancel_requested = false;
    base::TimePoint created_at;
    base::TimePoint due;
    std::optional<domain::Fence> fence;       // of the running or the last run
    std::optional<domain::SessionId> session; // running: who holds it
    std::string worker;                       // ... and its name
    std::optional<base::TimePoint> claimed_at;
    std::optional<base::TimePoint> finished_at;
    std::string reason;  // failed, cancelled: a stable short name
    std::string message; // of the last end that had one
    std::string result;  // JSON text or empty
    int progress_percent = 0;
    std::string progress_note;
};

struct RunRecord {
    domain::Fence fence;
    domain::Outcome outcome = domain::Outcome::running;
    int attempts_spent = 0; // after it ended
    std::optional<domain::SessionId> session;
    std::string worker;
    std::optional<base::TimePoint> claimed_at;
    std::optional<base::TimePoint> finished_at;
    std::string reason;
    std::string message;
};

/// Where a page ended. Opaque to users: the edges encode it.
struct JobCursor {
    base::TimePoint at; // of the sort key: finished_at when listing finished jobs, else unused
    domain::JobId id;
};

struct JobFilter {
    std::vector<domain::JobState> states;          // empty: any
    std::string kind;                              // empty: any
    std::string queue;                             // empty: any
    std::optional<base::TimePoint> finished_from;  // inclusive
    std::optional<base::TimePoint> finished_until; // exclusive
    std::optional<base::TimePoint> created_from;
    std::optional<base::TimePoint> created_until;
    std::optional<JobCursor> after;
    int limit = 50; // 1 to 1,000
};

/// Newest first: by finished_at then id where the filter asks for finished jobs only (by a finished
/// bound, or terminal states alone), else by id. Payloads and results are included.
struct JobPage {
    std::vector<JobRecord> jobs;
    std::optional<JobCursor> next; // set while there may be more
};

struct QueueRecord {
    std::string name;
    bool paused = false;
    std::int64_t pending = 0;
    std::int64_t scheduled = 0;
    std::int64_t running = 0;
    std::optional<base::TimePoint> oldest_pending; // due time of the job that has waited longest
};

struct MigrationReport {
    int from_version = 0;
    int to_version = 0;
};

struct Finding {
    enum class Severity { ok, notice, warning, problem };

    Severity severity = Severity::ok;
    std::string name;    // stable: "sqlite_wal_reset_bug", "blocked_by_writer"
    std::string message; // what is, and what to do
};

} // namespace deadman::store
