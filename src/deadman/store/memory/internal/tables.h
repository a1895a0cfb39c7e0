#pragma once
// What the in-memory store knows, as plain tables. No locking here: MemoryJobStore's mutex guards
// all.

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deadman/store/job_store.h"

namespace deadman::store::memory {

/// Where claimable work stands in line (PROTOCOL C2).
enum class Lane { returned = 0, fresh = 1, suspect = 2 };

/// Orders one queue's claimable jobs.
struct ReadyKey {
    int priority = domain::default_priority;
    Lane lane = Lane::fresh;
    std::int64_t ticket = 0;

    friend auto operator<=>(const ReadyKey&, const ReadyKey&) = default;
};

struct RunRow : RunRecord {
    bool reaped = false; // it lapsed: the end is not the session's own
};

struct JobRow {
    domain::JobId id;
    domain::JobSpec spec;
    domain::JobState state = domain::JobState::pending;
    ReadyKey ready; // pending only
    int attempts_spent = 0;
    domain::Blame blame;
    int snoozes = 0;
    bool cancel_requested = false;
    base::TimePoint created_at;
    base::TimePoint due;
    std::optional<base::TimePoint> finished_at;
    std::string reason;
    std::string message;
    std::string result;
    int progress_percent = 0;
    std::string progress_note;
    bool started = false;     // running only: a renewal named it
    std::vector<RunRow> runs; // running: the last one is going on

    bool is_held_under(domain::Fence fence) const {
        return state == domain::JobState::running && runs.back().fence == fence;
    }
};

/// One lease: jobs of one claim under one fence. Ended jobs leave `unended`; an empty lease is
/// dropped.
struct LeaseRow {
    std::int64_t claim_no = 0;
    bool solo = false;
    std::vector<domain::JobId> unended;
};

struct SessionRow {
    std::string key;
    SessionSpec spec;
    base::TimePoint started_at;
    base::TimePoint renewed_at;
    std::optional<base::TimePoint> ended_at;
    std::string end_reason;
    std::map<domain::Fence, LeaseRow> leases;
    std::set<std::int64_t> claim_numbers; // those that took something

    int held() const;

    base::TimePoint lease_until() const {
        return renewed_at + spec.terms.lease;
    }
};

struct IdempotencyRow {
    std::string fingerprint;
    domain::JobId job;
    base::TimePoint used_at;
};

struct QueueRow {
    bool paused = false;
    std::map<ReadyKey, domain::JobId> ready;
};

/// The reaper's view of time (PROTOCOL S3).
struct TickRow {
    base::TimePoint at;
    base::SteadyTime steady;
    std::optional<base::TimePoint> grace_from;
    base::TimePoint grace_until;
};

struct LeaderRow {
    std::int64_t term = 0; // 0: nobody leads
    base::SteadyTime until;
};

using TimedJob = std::pair<base::TimePoint, domain::JobId>;

struct Tables {
    std::map<domain::JobId, JobRow> jobs;
    std::map<std::string, QueueRow, std::less<>> queues;
    std::set<TimedJob> scheduled; // by due time
    std::set<TimedJob> finished;  // by the time they ended
    std::set<domain::JobId> running;
    std::map<std::string, domain::JobId> unique_keys;
    std::map<std::string, IdempotencyRow> idempotency_keys;
    std::map<domain::SessionId, SessionRow> sessions;
    TickRow tick;
    LeaderRow leader;
    std::int64_t last_ticket = 0; // ids of jobs come from the same sequence (PROTOCOL C2)
    std::int64_t last_fence = 0;
    std::int64_t last_session = 0;
    std::int64_t last_term = 0;
};

} // namespace deadman::store::memory
