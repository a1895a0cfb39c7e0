#include "deadman/store/sqlite/internal/reaper.h"

#include <algorithm>
#include <optional>
#include <string>

#include "deadman/platform/file_lock.h"
#include "deadman/store/sqlite/internal/ends.h"
#include "deadman/store/sqlite/internal/operators.h"

namespace deadman::store::sqlite {
namespace {

std::int64_t micros(base::SteadyTime time) {
    return time.time_since_epoch().count();
}

struct TickRow {
    std::string boot;
    std::int64_t steady = 0;
    std::int64_t grace_from = 0;
    std::int64_t grace_until = 0;
};

std::optional<TickRow> read_tick(Connection& db) {
    Cursor row =
        db.query("SELECT boot, steady, grace_from_steady, grace_until_steady FROM deadman_tick");
    if (!row.next())
        return std::nullopt;
    return TickRow{row.text(0), row.integer(1), row.integer(2), row.integer(3)};
}

void write_tick(Connection& db, const TickRow& tick) {
    db.run("INSERT OR REPLACE INTO deadman_tick (only, boot, steady, grace_from_steady, "
           "grace_until_steady) VALUES (1, ?1, ?2, ?3, ?4)",
           tick.boot, tick.steady, tick.grace_from, tick.grace_until);
}

// The longest lease that anybody lives by, so that all have had time to renew once it has passed.
std::int64_t longest_lease(Connection& db, const domain::LeaseTerms& terms) {
    Cursor row = db.query("SELECT max(lease) FROM deadman_session WHERE state = 'live'");
    return row.next() ? std::max(terms.lease.count(), row.integer(0)) : terms.lease.count();
}

struct LiveSession {
    domain::SessionId id;
    std::string boot;
    std::int64_t renewed_steady = 0;
    std::int64_t lease = 0;
};

std::vector<LiveSession> live_sessions(Connection& db) {
    std::vector<LiveSession> sessions;
    Cursor row = db.query(
        "SELECT id, boot, renewed_steady, lease FROM deadman_session WHERE state = 'live'");
    while (row.next())
        sessions.push_back(
            {domain::SessionId{row.integer(0)}, row.text(1), row.integer(2), row.integer(3)});
    return sessions;
}

/// Why a session has lapsed; empty: it has not.
std::string_view lapse_reason(const LiveSession& session, const std::string& boot,
                              std::int64_t now_steady, const Grace& grace,
                              const std::vector<domain::SessionId>& dead) {
    if (session.boot != boot)
        return "rebooted";
    if (std::ranges::find(dead, session.id) != dead.end())
        return "died";
    if (!grace.is_on && session.renewed_steady + session.lease < now_steady)
        return "lapsed";
    return {};
}

// Alone is told here, once: a part that is returned later proves nothing about the rest.
void mark(WriteContext& context, domain::SessionId session, std::string_view reason, bool blamed) {
    context.db.run(
        "UPDATE deadman_session SET state = 'lapsed', ended_at = ?2, end_reason = ?3, blamed = ?4, "
        "alone = (SELECT count(*) = 1 FROM deadman_lease WHERE session = ?1) WHERE id = ?1",
        session.value, base::to_micros(context.now), reason, blamed);
    context.db.run("DELETE FROM deadman_claim WHERE session = ?1", session.value);
}

struct LapsedRun {
    domain::JobId job;
    bool counts = false;
    bool alone = false;
};

std::vector<LapsedRun> lapsed_runs(Connection& db, int limit) {
    std::vector<LapsedRun> runs;
    Cursor row = db.query("SELECT l.job, s.blamed, s.alone FROM deadman_session s JOIN "
                          "deadman_lease l ON l.session = s.id WHERE s.state = 'lapsed' LIMIT ?1",
                          limit);
    while (row.next())
        runs.push_back({domain::JobId{row.integer(0)}, row.flag(1), row.flag(2)});
    return runs;
}

// Runs whose session's row is gone: somebody deleted it.
std::vector<LapsedRun> orphaned_runs(Connection& db, int limit) {
    std::vector<LapsedRun> runs;
    Cursor row = db.query("SELECT job FROM deadman_lease WHERE session IN (SELECT DISTINCT session "
                          "FROM deadman_lease EXCEPT SELECT id FROM deadman_session) LIMIT ?1",
                          limit);
    while (row.next())
        runs.push_back({domain::JobId{row.integer(0)}, true, false});
    return runs;
}

/// A job that has become due.
struct DueJob {
    domain::JobId job;
    int lane = 0;
    Standing standing;
    std::string queue;
    int priority = 0;
};

std::vector<DueJob> due_jobs(WriteContext& context, int limit) {
    std::vector<DueJob> jobs;
    Cursor row = context.db.query(
        "SELECT l.id, l.lane, l.attempts, l.lapse_score, l.crashes, l.snoozes, l.due, j.queue, "
        "j.priority FROM deadman_later l JOIN deadman_job j ON j.id = l.id WHERE l.due <= ?1 "
        "ORDER BY l.due, l.id LIMIT ?2",
        base::to_micros(context.now), limit);
    while (row.next())
        jobs.push_back({domain::JobId{row.integer(0)},
                        row.small(1),
                        {row.small(2), {row.small(3), row.small(4)}, row.small(5), row.integer(6)},
                        row.text(7),
                        row.small(8)});
    return jobs;
}

std::vector<domain::JobId> jobs_past_retention(WriteContext& context,
                                               const UpkeepRequest& request) {
    std::vector<domain::JobId> jobs;
    Cursor row = context.db.query(
        "SELECT id FROM deadman_done WHERE finished_at <= ?1 ORDER BY finished_at, id LIMIT ?2",
        base::to_micros(context.now - request.retention), request.batch);
    while (row.next())
        jobs.push_back(domain::JobId{row.integer(0)});
    return jobs;
}

} // namespace

void begin_ticking(WriteContext& context) {
    context.db.run("INSERT OR IGNORE INTO deadman_tick (only, boot, steady, grace_from_steady, "
                   "grace_until_steady) VALUES (1, ?1, ?2, 0, 0)",
                   platform::boot_id(), micros(context.steady));
}

Grace tick(WriteContext& context, const domain::LeaseTerms& terms, base::Duration stall) {
    const std::string boot = platform::boot_id();
    const std::int64_t now = micros(context.steady);
    const auto last = read_tick(context.db);
    const bool is_other_boot = last && last->boot != boot;
    TickRow row{boot, now, 0, 0};
    if (last && !is_other_boot) {
        row.grace_from = last->grace_from;
        row.grace_until = last->grace_until;
    }
    const bool is_outage =
        !last || is_other_boot || now - last->steady > domain::outage_gap(terms).count();
    if (is_outage || stall > terms.sweep) {
        row.grace_from = now;
        row.grace_until = now + longest_lease(context.db, terms);
    }
    write_tick(context.db, row);
    return {.is_on = now < row.grace_until, .from_steady = row.grace_from};
}

void mark_lapsed(WriteContext& context, const Grace& grace,
                 const std::vector<domain::SessionId>& dead, UpkeepReport& report) {
    const std::string boot = platform::boot_id();
    const std::int64_t now = micros(context.steady);
    for (const LiveSession& session : live_sessions(context.db)) {
        const std::string_view reason = lapse_reason(session, boot, now, grace, dead);
        if (reason.empty())
            continue;
        // Not heard of since an outage: whether its jobs or the outage ended it, nobody can tell.
        const bool is_blamed =
            !grace.is_on && session.boot == boot && session.renewed_steady >= grace.from_steady;
        mark(context, session.id, reason, is_blamed);
        ++report.sessions_lapsed;
    }
}

bool return_runs(WriteContext& context, const UpkeepRequest& request, UpkeepReport& report) {
    std::vector<LapsedRun> runs = lapsed_runs(context.db, request.batch);
    const bool has_all = runs.size() < static_cast<std::size_t>(request.batch);
    if (has_all)
        std::ranges::copy(orphaned_runs(context.db, request.batch), std::back_inserter(runs));
    for (const LapsedRun& run : runs) {
        const LeaseRow lease = require_lease(context.db, run.job);
        apply_lapse(context, lease,
                    {.counts = run.counts, .named_started = lease.started, .alone = run.alone},
                    request.crash, report);
    }
    if (has_all)
        context.db.run("UPDATE deadman_session SET state = 'ended' WHERE state = 'lapsed'");
    return !has_all;
}

bool promote_due(WriteContext& context, int batch, UpkeepReport& report) {
    const std::vector<DueJob> jobs = due_jobs(context, batch);
    for (const DueJob& due : jobs) {
        context.db.run("DELETE FROM deadman_later WHERE id = ?1", due.job.value);
        make_ready(context, due.job, due.queue, due.priority, due.lane, due.standing);
        ++report.promoted;
    }
    return jobs.size() == static_cast<std::size_t>(batch);
}

bool prune(WriteContext& context, const UpkeepRequest& request, UpkeepReport& report) {
    const std::vector<domain::JobId> jobs = jobs_past_retention(context, request);
    for (const domain::JobId job : jobs)
        forget_job(context, job);
    report.pruned += static_cast<std::int64_t>(jobs.size());
    const int keys =
        context.db.run("DELETE FROM deadman_idempotency_key WHERE key IN (SELECT key FROM "
                       "deadman_idempotency_key WHERE used_at <= ?1 LIMIT ?2)",
                       base::to_micros(context.now - domain::idempotency_key_life), request.batch);
    // The names of workers are looked up here for as long as runs are kept.
    context.db.run("DELETE FROM deadman_session WHERE id IN (SELECT id FROM deadman_session WHERE "
                   "state = 'ended' AND ended_at <= ?1 LIMIT ?2)",
                   base::to_micros(context.now - request.retention - std::chrono::hours(24)),
                   request.batch);
    return std::max(static_cast<int>(jobs.size()), keys) >= request.batch;
}

} // namespace deadman::store::sqlite
