#include "deadman/store/sqlite/internal/operators.h"

#include <optional>
#include <string>

#include "deadman/domain/job_state.h"
#include "deadman/store/sqlite/internal/moves.h"

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;
using domain::JobState;

std::optional<Standing> take_out(WriteContext& context, std::string_view remove_sql,
                                 domain::JobId id) {
    Cursor row = context.db.query(remove_sql, id.value);
    if (!row.next())
        return std::nullopt;
    Standing standing{row.small(0), {row.small(1), row.small(2)}, row.small(3), row.integer(4)};
    row.next(); // the row is gone once the statement has ended
    return standing;
}

std::optional<Standing> take_out_unstarted(WriteContext& context, domain::JobId id) {
    constexpr std::string_view from_ready =
        "DELETE FROM deadman_ready WHERE id = ?1 RETURNING attempts, lapse_score, crashes, "
        "snoozes, due";
    constexpr std::string_view from_later =
        "DELETE FROM deadman_later WHERE id = ?1 RETURNING attempts, lapse_score, crashes, "
        "snoozes, due";
    if (auto standing = take_out(context, from_ready, id))
        return standing;
    return take_out(context, from_later, id);
}

bool exists(Connection& db, domain::JobId id) {
    return db.query("SELECT 1 FROM deadman_job WHERE id = ?1", id.value).next();
}

std::optional<JobState> finished_state(Connection& db, domain::JobId id) {
    Cursor row = db.query("SELECT state FROM deadman_done WHERE id = ?1", id.value);
    if (!row.next())
        return std::nullopt;
    return domain::parse_job_state(row.text(0));
}

/// A job that is not where it would have to be.
base::Error misplaced(Connection& db, domain::JobId id, std::string why) {
    if (!exists(db, id))
        return base::fail(ErrorCode::not_found, "no such job");
    return base::fail(ErrorCode::conflict, std::move(why));
}

/// What a retry needs of a finished job.
struct Retried {
    std::string queue;
    int priority = 0;
    std::string unique_key;
};

Retried read_retried(Connection& db, domain::JobId id) {
    Cursor row =
        db.query("SELECT queue, priority, unique_key FROM deadman_job WHERE id = ?1", id.value);
    Retried retried;
    if (row.next())
        retried = {row.text(0), row.small(1), row.text(2)};
    return retried;
}

bool take_unique_key(WriteContext& context, const std::string& key, domain::JobId id) {
    return key.empty() || context.db.run("INSERT OR IGNORE INTO deadman_unique_key (key, job) "
                                         "VALUES (?1, ?2)",
                                         key, id.value) == 1;
}

// The run that ended the job stays on record; the end itself goes.
void withdraw_end(WriteContext& context, domain::JobId id) {
    context.db.run("INSERT INTO deadman_run (job, fence, outcome, session, reaped, attempts, "
                   "claimed_at, finished_at, reason, percent, note, message) "
                   "SELECT id, fence, state, session, reaped, attempts, claimed_at, finished_at, "
                   "reason, percent, note, message FROM deadman_done WHERE id = ?1 AND fence IS "
                   "NOT NULL",
                   id.value);
    context.db.run("DELETE FROM deadman_done WHERE id = ?1", id.value);
}

} // namespace

CancelAnswer cancel_job(WriteContext& context, domain::JobId id) {
    if (const auto standing = take_out_unstarted(context, id)) {
        finish_unstarted(context, id, *standing, "cancelled");
        return CancelAnswer::cancelled;
    }
    if (context.db.run("UPDATE deadman_lease SET cancel = 1 WHERE job = ?1", id.value) == 1)
        return CancelAnswer::requested;
    return exists(context.db, id) ? CancelAnswer::already_finished : CancelAnswer::not_found;
}

base::Status retry_job(WriteContext& context, domain::JobId id) {
    const auto state = finished_state(context.db, id);
    if (!state)
        return misplaced(context.db, id, "the job has not finished");
    if (domain::next_state(*state, domain::JobEvent::operator_retry) != JobState::pending)
        return base::fail(ErrorCode::conflict,
                          "the job is " + std::string(domain::job_state_name(*state)) +
                              ": only failed, cancelled and expired jobs can be retried");
    const Retried job = read_retried(context.db, id);
    if (!take_unique_key(context, job.unique_key, id))
        return base::fail(ErrorCode::conflict, "another job holds its unique key");
    withdraw_end(context, id);
    make_ready(context, id, job.queue, job.priority, lane_returned,
               {.due = base::to_micros(context.now)});
    return {};
}

base::Status remove_job(WriteContext& context, domain::JobId id) {
    if (!finished_state(context.db, id))
        return misplaced(context.db, id, "the job has not finished");
    forget_job(context, id);
    return {};
}

void forget_job(WriteContext& context, domain::JobId id) {
    context.db.run("DELETE FROM deadman_done WHERE id = ?1", id.value);
    context.db.run("DELETE FROM deadman_run WHERE job = ?1", id.value);
    context.db.run("DELETE FROM deadman_job WHERE id = ?1", id.value);
}

void set_paused(WriteContext& context, std::string_view queue, bool paused) {
    context.db.run("INSERT INTO deadman_queue (name, paused) VALUES (?1, ?2) ON CONFLICT (name) DO "
                   "UPDATE SET paused = excluded.paused",
                   queue, paused);
    context.made_work = context.made_work || !paused;
}

} // namespace deadman::store::sqlite
