#include "deadman/store/sqlite/internal/moves.h"

namespace deadman::store::sqlite {

std::int64_t next_numbers(WriteContext& context, std::string_view sequence, std::int64_t count) {
    Cursor last = context.db.query(
        "UPDATE deadman_sequence SET value = value + ?2 WHERE name = ?1 RETURNING value", sequence,
        count);
    if (!last.next())
        throw SqliteFailure{0, "the sequence '" + std::string(sequence) + "' is missing"};
    return last.integer(0) - count + 1;
}

std::optional<LeaseRow> find_lease(Connection& db, domain::JobId job) {
    Cursor row = db.query(
        "SELECT l.fence, l.session, l.started, l.cancel, l.attempts, l.lapse_score, l.crashes, "
        "l.snoozes, l.due, l.claimed_at, l.percent, l.note, j.queue, j.priority, j.max_attempts, "
        "j.unique_key FROM deadman_lease l JOIN deadman_job j ON j.id = l.job WHERE l.job = ?1",
        job.value);
    if (!row.next())
        return std::nullopt;
    LeaseRow lease;
    lease.run = {job, domain::Fence{row.integer(0)}};
    lease.session = domain::SessionId{row.integer(1)};
    lease.started = row.flag(2);
    lease.cancel = row.flag(3);
    lease.standing = {row.small(4), {row.small(5), row.small(6)}, row.small(7), row.integer(8)};
    lease.claimed_at = row.integer(9);
    lease.percent = row.small(10);
    lease.note = row.text(11);
    lease.queue = row.text(12);
    lease.priority = row.small(13);
    lease.max_attempts = row.small(14);
    lease.unique_key = row.text(15);
    return lease;
}

bool is_live_session(Connection& db, const SessionKey& session) {
    return db
        .query("SELECT 1 FROM deadman_session WHERE id = ?1 AND key = ?2 AND state = 'live'",
               session.id.value, session.key)
        .next();
}

void make_ready(WriteContext& context, domain::JobId job, std::string_view queue, int priority,
                int lane, const Standing& standing) {
    context.db.run(
        "INSERT INTO deadman_ready (queue, priority, lane, ticket, id, attempts, lapse_score, "
        "crashes, snoozes, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        queue, priority, lane, next_numbers(context, "ticket", 1), job.value, standing.attempts,
        standing.blame.lapse_score, standing.blame.crashes, standing.snoozes, standing.due);
    context.made_work = true;
}

void make_later(WriteContext& context, domain::JobId job, int lane, const Standing& standing) {
    context.db.run("INSERT INTO deadman_later (id, due, lane, attempts, lapse_score, crashes, "
                   "snoozes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                   job.value, standing.due, lane, standing.attempts, standing.blame.lapse_score,
                   standing.blame.crashes, standing.snoozes);
}

void release_unique_key(WriteContext& context, const std::string& key, domain::JobId job) {
    if (!key.empty())
        context.db.run("DELETE FROM deadman_unique_key WHERE key = ?1 AND job = ?2", key,
                       job.value);
}

void finish_run(WriteContext& context, const LeaseRow& lease, const RunEnding& ending,
                const Standing& after) {
    context.db.run("DELETE FROM deadman_lease WHERE job = ?1", lease.run.job.value);
    context.db.run(
        "INSERT INTO deadman_done (id, state, fence, session, reaped, cancel, attempts, "
        "lapse_score, crashes, snoozes, due, claimed_at, finished_at, reason, percent, note, "
        "message, result) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        lease.run.job.value, domain::outcome_name(ending.outcome), lease.run.fence.value,
        lease.session.value, ending.reaped, lease.cancel, after.attempts, after.blame.lapse_score,
        after.blame.crashes, after.snoozes, after.due, lease.claimed_at,
        base::to_micros(context.now), ending.reason, lease.percent, lease.note, ending.message,
        ending.result);
    release_unique_key(context, lease.unique_key, lease.run.job);
}

void close_run(WriteContext& context, const LeaseRow& lease, const RunEnding& ending,
               const Standing& after) {
    context.db.run("DELETE FROM deadman_lease WHERE job = ?1", lease.run.job.value);
    context.db.run(
        "INSERT INTO deadman_run (job, fence, outcome, session, reaped, attempts, claimed_at, "
        "finished_at, reason, percent, note, message) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        lease.run.job.value, lease.run.fence.value, domain::outcome_name(ending.outcome),
        lease.session.value, ending.reaped, after.attempts, lease.claimed_at,
        base::to_micros(context.now), ending.reason, lease.percent, lease.note, ending.message);
}

void finish_unstarted(WriteContext& context, domain::JobId job, const Standing& standing,
                      std::string_view reason) {
    context.db.run(
        "INSERT INTO deadman_done (id, state, reaped, cancel, attempts, lapse_score, crashes, "
        "snoozes, due, finished_at, reason, percent, note, message, result) "
        "VALUES (?1, 'cancelled', 0, 0, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, '', '', '')",
        job.value, standing.attempts, standing.blame.lapse_score, standing.blame.crashes,
        standing.snoozes, standing.due, base::to_micros(context.now), reason);
    std::string key;
    {
        Cursor row =
            context.db.query("SELECT unique_key FROM deadman_job WHERE id = ?1", job.value);
        if (row.next())
            key = row.text(0);
    }
    release_unique_key(context, key, job);
}

} // namespace deadman::store::sqlite
