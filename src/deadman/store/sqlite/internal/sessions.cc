#include "deadman/store/sqlite/internal/sessions.h"

#include <algorithm>
#include <string>

#include "deadman/base/random.h"
#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"
#include "deadman/store/sqlite/internal/ends.h"
#include "deadman/store/sqlite/internal/moves.h"

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;

constexpr std::size_t max_note_bytes = 1024;
constexpr std::size_t key_bytes = 16;

// Names hold no control characters, so a line break can part them.
constexpr char separator = '\n';

std::string join(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (!text.empty())
            text += separator;
        text += name;
    }
    return text;
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find(separator, start), text.size());
        names.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return names;
}

void publish_started(WriteContext& context, const SessionKey& session,
                     const std::vector<domain::JobId>& started) {
    for (const domain::JobId job : started)
        context.db.run("UPDATE deadman_lease SET started = 1 WHERE job = ?1 AND session = ?2 AND "
                       "NOT started",
                       job.value, session.id.value);
}

void publish_progress(WriteContext& context, const SessionKey& session,
                      const std::vector<RunProgress>& progress) {
    for (const RunProgress& step : progress)
        context.db.run("UPDATE deadman_lease SET percent = ?4, note = ?5 WHERE job = ?1 AND "
                       "session = ?2 AND fence = ?3",
                       step.run.job.value, session.id.value, step.run.fence.value,
                       std::clamp(step.percent, 0, 100),
                       domain::clean_text(step.note, max_note_bytes));
}

Renewal held_leases(Connection& db, const SessionKey& session) {
    Renewal renewal;
    Cursor row = db.query("SELECT fence, claim_no, job, cancel FROM deadman_lease WHERE session = "
                          "?1 ORDER BY fence, slot",
                          session.id.value);
    while (row.next()) {
        const domain::Fence fence{row.integer(0)};
        if (renewal.leases.empty() || renewal.leases.back().fence != fence)
            renewal.leases.push_back({.fence = fence, .claim_no = row.integer(1)});
        HeldLease& lease = renewal.leases.back();
        const domain::JobId job{row.integer(2)};
        lease.unended.push_back(job);
        if (row.flag(3))
            lease.cancel_requested.push_back(job);
    }
    return renewal;
}

std::vector<domain::JobId> held_jobs(Connection& db, domain::SessionId session) {
    std::vector<domain::JobId> jobs;
    Cursor row =
        db.query("SELECT job FROM deadman_lease WHERE session = ?1 ORDER BY job", session.value);
    while (row.next())
        jobs.push_back(domain::JobId{row.integer(0)});
    return jobs;
}

SessionRecord read_session(const Cursor& row) {
    SessionRecord record;
    record.id = domain::SessionId{row.integer(0)};
    record.worker = row.text(1);
    record.host = row.text(2);
    record.pid = row.small(3);
    record.version = row.text(4);
    record.queues = split(row.text(5));
    record.kinds = split(row.text(6));
    record.slots = row.small(7);
    record.started_at = base::from_micros(row.integer(8));
    record.renewed_at = base::from_micros(row.integer(9));
    record.lease_until = record.renewed_at + base::Duration{row.integer(10)};
    if (const auto ended = row.optional_integer(11))
        record.ended_at = base::from_micros(*ended);
    record.end_reason = row.text(12);
    record.running = row.small(13);
    record.held = row.small(14);
    return record;
}

} // namespace

base::Status check_session_spec(const SessionSpec& spec) {
    const auto has_break = [](const std::string& name) {
        return name.empty() || name.find(separator) != std::string::npos;
    };
    if (std::ranges::any_of(spec.queues, has_break) || std::ranges::any_of(spec.kinds, has_break))
        return base::fail(ErrorCode::invalid_argument,
                          "queues and kinds: names are not empty and hold no line break");
    if (spec.terms.lease <= base::Duration::zero())
        return base::fail(ErrorCode::invalid_argument, "lease: must be longer than nothing");
    return {};
}

Session register_session(WriteContext& context, const SessionSpec& spec, SessionLocks& locks) {
    const domain::SessionId id{next_numbers(context, "session", 1)};
    // Before the row can be seen: a live session without its lock would look dead.
    locks.hold(id);
    const std::string key = base::random_hex(key_bytes);
    context.db.run(
        "INSERT INTO deadman_session (id, key, state, boot, lease, renewed_steady, renewed_at, "
        "started_at, worker, host, pid, version, slots, queues, kinds) "
        "VALUES (?1, ?2, 'live', ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        id.value, key, platform::boot_id(), spec.terms.lease.count(),
        context.steady.time_since_epoch().count(), base::to_micros(context.now), spec.worker,
        spec.host, spec.pid, spec.version, spec.slots, join(spec.queues), join(spec.kinds));
    return {.key = {id, key},
            .renew_every = spec.terms.heartbeat,
            .cancel_after = domain::cancel_after(spec.terms),
            .leave_after = domain::leave_after(spec.terms)};
}

base::Result<Renewal> renew(WriteContext& context, const SessionKey& session,
                            const RenewRequest& request) {
    const int renewed = context.db.run(
        "UPDATE deadman_session SET renewed_steady = ?3, renewed_at = ?4, idle = ?5 WHERE id = ?1 "
        "AND key = ?2 AND state = 'live'",
        session.id.value, session.key, context.steady.time_since_epoch().count(),
        base::to_micros(context.now), request.idle);
    if (renewed == 0)
        return base::fail(ErrorCode::fenced, "the session has ended");
    publish_started(context, session, request.started);
    publish_progress(context, session, request.progress);
    return held_leases(context.db, session);
}

void end_session(WriteContext& context, const SessionKey& session, std::string_view reason) {
    const int ended = context.db.run(
        "UPDATE deadman_session SET state = 'ended', ended_at = ?3, end_reason = ?4 WHERE id = ?1 "
        "AND key = ?2 AND state = 'live'",
        session.id.value, session.key, base::to_micros(context.now),
        domain::clean_text(reason, domain::max_name_bytes));
    if (ended == 0)
        return;
    UpkeepReport unused;
    for (const domain::JobId job : held_jobs(context.db, session.id))
        apply_lapse(context, require_lease(context.db, job), {.counts = false}, {}, unused);
    context.db.run("DELETE FROM deadman_claim WHERE session = ?1", session.id.value);
}

std::vector<SessionRecord> list_sessions(Connection& db, base::TimePoint now) {
    std::vector<SessionRecord> records;
    Cursor row = db.query(
        "SELECT s.id, s.worker, s.host, s.pid, s.version, s.queues, s.kinds, s.slots, "
        "s.started_at, s.renewed_at, s.lease, s.ended_at, s.end_reason, coalesce(sum(l.started), "
        "0), count(l.job) FROM deadman_session s LEFT JOIN deadman_lease l ON l.session = s.id "
        "WHERE s.ended_at IS NULL OR s.ended_at > ?1 GROUP BY s.id ORDER BY s.id",
        base::to_micros(now - ended_session_life));
    while (row.next())
        records.push_back(read_session(row));
    return records;
}

} // namespace deadman::store::sqlite
