#include "deadman/store/sqlite/internal/questions.h"

namespace deadman::store::sqlite {
namespace {

std::optional<base::TimePoint> time_at(const Cursor& row, int column) {
    if (const auto micros = row.optional_integer(column))
        return base::from_micros(*micros);
    return std::nullopt;
}

RunRecord read_run(const Cursor& row) {
    RunRecord run;
    run.fence = domain::Fence{row.integer(0)};
    run.outcome = domain::parse_outcome(row.text(1)).value_or(domain::Outcome::failed);
    run.attempts_spent = row.small(2);
    run.session = domain::SessionId{row.integer(3)};
    run.worker = row.text(4);
    run.claimed_at = time_at(row, 5);
    run.finished_at = time_at(row, 6);
    run.reason = row.text(7);
    run.message = row.text(8);
    return run;
}

} // namespace

std::vector<RunRecord> list_runs(Connection& db, domain::JobId id) {
    std::vector<RunRecord> runs;
    Cursor row = db.query(
        "SELECT r.fence, r.outcome, r.attempts, r.session, coalesce(s.worker, ''), r.claimed_at, "
        "r.finished_at, r.reason, r.message FROM ("
        "SELECT fence, outcome, attempts, session, claimed_at, finished_at, reason, message "
        "FROM deadman_run WHERE job = ?1 "
        "UNION ALL SELECT fence, state, attempts, session, claimed_at, finished_at, reason, "
        "message FROM deadman_done WHERE id = ?1 AND fence IS NOT NULL "
        "UNION ALL SELECT fence, 'running', attempts, session, claimed_at, NULL, '', '' "
        "FROM deadman_lease WHERE job = ?1) r "
        "LEFT JOIN deadman_session s ON s.id = r.session ORDER BY r.fence",
        id.value);
    while (row.next())
        runs.push_back(read_run(row));
    return runs;
}

std::int64_t count_outstanding(Connection& db) {
    Cursor row = db.query("SELECT (SELECT count(*) FROM deadman_ready) + "
                          "(SELECT count(*) FROM deadman_later) + "
                          "(SELECT count(*) FROM deadman_lease)");
    return row.next() ? row.integer(0) : 0;
}

std::vector<QueueRecord> list_queues(Connection& db) {
    std::vector<QueueRecord> queues;
    Cursor row = db.query(
        "SELECT q.name, q.paused, coalesce(r.count, 0), coalesce(l.count, 0), coalesce(h.count, "
        "0), r.oldest FROM deadman_queue q "
        "LEFT JOIN (SELECT queue, count(*) AS count, min(due) AS oldest FROM deadman_ready GROUP "
        "BY queue) r ON r.queue = q.name "
        "LEFT JOIN (SELECT j.queue, count(*) AS count FROM deadman_later x JOIN deadman_job j ON "
        "j.id = x.id GROUP BY j.queue) l ON l.queue = q.name "
        "LEFT JOIN (SELECT j.queue, count(*) AS count FROM deadman_lease x JOIN deadman_job j ON "
        "j.id = x.job GROUP BY j.queue) h ON h.queue = q.name ORDER BY q.name");
    while (row.next()) {
        QueueRecord queue;
        queue.name = row.text(0);
        queue.paused = row.flag(1);
        queue.pending = row.integer(2);
        queue.scheduled = row.integer(3);
        queue.running = row.integer(4);
        queue.oldest_pending = time_at(row, 5);
        queues.push_back(std::move(queue));
    }
    return queues;
}

} // namespace deadman::store::sqlite
