#pragma once
// The moves of a job between the tables, shared by all operations that write.
//
// REQUIRES: within a write transaction.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deadman/domain/blame.h"
#include "deadman/domain/outcome.h"
#include "deadman/store/session.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

/// Lanes of deadman_ready.
inline constexpr int lane_returned = 0;
inline constexpr int lane_new = 1;
inline constexpr int lane_suspect = 2;

/// What a job carries along on its way.
struct Standing {
    int attempts = 0;
    domain::Blame blame;
    int snoozes = 0;
    std::int64_t due = 0;
};

/// A running job: its lease, and what its end needs of the job.
struct LeaseRow {
    RunKey run;
    domain::SessionId session;
    bool started = false;
    bool cancel = false;
    Standing standing;
    std::int64_t claimed_at = 0;
    int percent = 0;
    std::string note;
    std::string queue;
    int priority = 0;
    int max_attempts = 0;
    std::string unique_key;
};

/// What is written about a run that has ended.
struct RunEnding {
    domain::Outcome outcome = domain::Outcome::lapse;
    bool reaped = false; // by the store, not by an answer
    std::string reason;
    std::string message;
    std::string result;
};

/// The first of `count` new numbers.
std::int64_t next_numbers(WriteContext& context, std::string_view sequence, std::int64_t count);

std::optional<LeaseRow> find_lease(Connection& db, domain::JobId job);

bool is_live_session(Connection& db, const SessionKey& session);

/// Under a new ticket.
void make_ready(WriteContext& context, domain::JobId job, std::string_view queue, int priority,
                int lane, const Standing& standing);

void make_later(WriteContext& context, domain::JobId job, int lane, const Standing& standing);

/// From its lease to done, with all that ends with it.
void finish_run(WriteContext& context, const LeaseRow& lease, const RunEnding& ending,
                const Standing& after);

/// Records the run and removes the lease; the caller puts the job somewhere.
void close_run(WriteContext& context, const LeaseRow& lease, const RunEnding& ending,
               const Standing& after);

/// To done, from ready or later (which the caller has taken it out of).
void finish_unstarted(WriteContext& context, domain::JobId job, const Standing& standing,
                      std::string_view reason);

void release_unique_key(WriteContext& context, const std::string& key, domain::JobId job);

} // namespace deadman::store::sqlite
