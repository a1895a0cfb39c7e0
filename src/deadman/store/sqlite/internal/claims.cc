#include "deadman/store/sqlite/internal/claims.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "deadman/store/sqlite/internal/moves.h"

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;

// Numbers so far behind the newest cannot be in flight any more.
constexpr std::int64_t remembered_claim_numbers = 4'096;

// Of a claim's places at one priority, returned work takes at most three of four while new work
// waits.
int returned_share(int places) {
    return places - places / 4;
}

/// A row of ready, as it is taken.
struct ReadyRow {
    domain::JobId job;
    int lane = lane_new;
    std::int64_t ticket = 0;
    Standing standing;
    Claimed claimed;
};

bool is_open(Connection& db, const std::string& queue) {
    return !db.query("SELECT 1 FROM deadman_queue WHERE name = ?1 AND paused", queue).next();
}

std::vector<std::string> open_queues(Connection& db, std::span<const std::string> queues) {
    std::vector<std::string> open;
    for (const std::string& queue : queues)
        if (std::ranges::find(open, queue) == open.end() && is_open(db, queue))
            open.push_back(queue);
    return open;
}

/// The first priority from `from` on with a ready row in the queue.
std::optional<int> next_priority(Connection& db, const std::string& queue, int from) {
    Cursor row = db.query("SELECT priority FROM deadman_ready WHERE queue = ?1 AND priority >= ?2 "
                          "ORDER BY priority LIMIT 1",
                          queue, from);
    if (!row.next())
        return std::nullopt;
    return row.small(0);
}

ReadyRow read_ready(const Cursor& row, const std::string& queue) {
    ReadyRow ready;
    ready.job = domain::JobId{row.integer(0)};
    ready.lane = row.small(1);
    ready.ticket = row.integer(2);
    ready.standing = {row.small(3), {row.small(4), row.small(5)}, row.small(6), row.integer(7)};
    Claimed& claimed = ready.claimed;
    claimed.kind = row.text(8);
    claimed.queue = queue;
    claimed.max_attempts = row.small(9);
    claimed.retry.kind = static_cast<domain::RetryPolicy::Kind>(row.small(10));
    claimed.retry.base = base::Duration{row.integer(11)};
    claimed.retry.cap = base::Duration{row.integer(12)};
    claimed.retry.jitter = row.real(13);
    claimed.timeout = base::Duration{row.integer(14)};
    claimed.solo = row.flag(15);
    claimed.payload = row.text(16);
    claimed.attempts_spent = ready.standing.attempts;
    claimed.blame = ready.standing.blame;
    return ready;
}

void read_lane(Connection& db, const std::string& queue, int priority, int lane, int limit,
               std::vector<ReadyRow>& chosen) {
    Cursor row = db.query(
        "SELECT r.id, r.lane, r.ticket, r.attempts, r.lapse_score, r.crashes, r.snoozes, r.due, "
        "j.kind, j.max_attempts, j.retry_kind, j.retry_base, j.retry_cap, j.retry_jitter, "
        "j.timeout, j.transactional, j.payload "
        "FROM deadman_ready r JOIN deadman_job j ON j.id = r.id WHERE r.queue = ?1 AND "
        "r.priority = ?2 AND r.lane = ?3 ORDER BY r.ticket LIMIT ?4",
        queue, priority, lane, limit);
    while (row.next())
        chosen.push_back(read_ready(row, queue));
}

/// Takes out the first `limit` rows of one lane: all of them with one statement.
void take_out(Connection& db, const std::string& queue, int priority, int lane, int limit,
              std::vector<ReadyRow>& chosen) {
    if (limit <= 0)
        return;
    const std::size_t before = chosen.size();
    read_lane(db, queue, priority, lane, limit, chosen);
    if (chosen.size() > before)
        db.run("DELETE FROM deadman_ready WHERE queue = ?1 AND priority = ?2 AND lane = ?3 AND "
               "ticket <= ?4",
               queue, priority, lane, chosen.back().ticket);
}

// Returned work first, up to its share; then new work; what is left over goes to returned work
// again.
void choose_from(Connection& db, const std::string& queue, int priority, int max,
                 std::vector<ReadyRow>& chosen) {
    const auto places = [&] { return max - static_cast<int>(chosen.size()); };
    take_out(db, queue, priority, lane_returned, returned_share(places()), chosen);
    take_out(db, queue, priority, lane_new, places(), chosen);
    take_out(db, queue, priority, lane_returned, places(), chosen);
}

std::vector<ReadyRow> choose(Connection& db, const ClaimRequest& request) {
    const std::vector<std::string> queues = open_queues(db, request.queues);
    std::vector<ReadyRow> chosen;
    int priority = 0;
    while (static_cast<int>(chosen.size()) < request.max) {
        std::optional<int> lowest;
        for (const std::string& queue : queues)
            if (const auto next = next_priority(db, queue, priority))
                lowest = std::min(lowest.value_or(*next), *next);
        if (!lowest)
            break;
        for (const std::string& queue : queues)
            choose_from(db, queue, *lowest, request.max, chosen);
        priority = *lowest + 1;
    }
    return chosen;
}

std::vector<ReadyRow> choose_suspect(Connection& db, const ClaimRequest& request) {
    std::vector<ReadyRow> chosen;
    const std::vector<std::string> queues = open_queues(db, request.queues);
    for (int priority = 0; priority <= domain::max_priority && chosen.empty(); ++priority) {
        for (const std::string& queue : queues)
            take_out(db, queue, priority, lane_suspect, chosen.empty() ? 1 : 0, chosen);
    }
    return chosen;
}

bool holds_anything(Connection& db, const SessionKey& session) {
    return db.query("SELECT 1 FROM deadman_lease WHERE session = ?1 LIMIT 1", session.id.value)
        .next();
}

void remember_claim(WriteContext& context, const SessionKey& session, std::int64_t claim_no) {
    context.db.run("INSERT INTO deadman_claim (session, claim_no) VALUES (?1, ?2)",
                   session.id.value, claim_no);
    context.db.run("DELETE FROM deadman_claim WHERE session = ?1 AND claim_no < ?2",
                   session.id.value, claim_no - remembered_claim_numbers);
}

void lease(WriteContext& context, const SessionKey& session, const ClaimRequest& request, int slot,
           const ReadyRow& ready) {
    const Claimed& claimed = ready.claimed;
    context.db.run(
        "INSERT INTO deadman_lease (job, fence, session, claim_no, slot, solo, attempts, "
        "lapse_score, crashes, snoozes, due, claimed_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        ready.job.value, claimed.run.fence.value, session.id.value, request.claim_no, slot,
        claimed.solo, ready.standing.attempts, ready.standing.blame.lapse_score,
        ready.standing.blame.crashes, ready.standing.snoozes, ready.standing.due,
        base::to_micros(context.now));
}

// One fence for the claim; one of its own for each job that may end in a transaction of the app's.
void give_fences(WriteContext& context, const ClaimRequest& request,
                 std::vector<ReadyRow>& chosen) {
    for (ReadyRow& ready : chosen)
        ready.claimed.solo = ready.claimed.solo || request.suspect;
    const auto is_solo = [](const ReadyRow& row) { return row.claimed.solo; };
    const std::int64_t solos = std::ranges::count_if(chosen, is_solo);
    const std::int64_t shares = solos < static_cast<std::int64_t>(chosen.size()) ? 1 : 0;
    const std::int64_t first = next_numbers(context, "fence", solos + shares);
    std::int64_t next_solo = first + shares;
    for (ReadyRow& ready : chosen) {
        ready.claimed.run = {ready.job, domain::Fence{is_solo(ready) ? next_solo++ : first}};
        ready.claimed.claimed_at = context.now;
    }
}

base::Status check_claim(Connection& db, const SessionKey& session, const ClaimRequest& request) {
    if (!is_live_session(db, session))
        return base::fail(ErrorCode::fenced, "the session has ended");
    if (request.max < 1)
        return base::fail(ErrorCode::invalid_argument, "max: must be at least 1");
    if (db.query("SELECT 1 FROM deadman_claim WHERE session = ?1 AND claim_no = ?2",
                 session.id.value, request.claim_no)
            .next())
        return base::fail(ErrorCode::conflict,
                          "claim " + std::to_string(request.claim_no) + " has been made before");
    return {};
}

Claimed read_claimed(const Cursor& row) {
    Claimed claimed;
    claimed.run = {domain::JobId{row.integer(0)}, domain::Fence{row.integer(1)}};
    claimed.solo = row.flag(2);
    claimed.attempts_spent = row.small(3);
    claimed.blame = {row.small(4), row.small(5)};
    claimed.claimed_at = base::from_micros(row.integer(6));
    claimed.kind = row.text(7);
    claimed.queue = row.text(8);
    claimed.max_attempts = row.small(9);
    claimed.retry.kind = static_cast<domain::RetryPolicy::Kind>(row.small(10));
    claimed.retry.base = base::Duration{row.integer(11)};
    claimed.retry.cap = base::Duration{row.integer(12)};
    claimed.retry.jitter = row.real(13);
    claimed.timeout = base::Duration{row.integer(14)};
    claimed.payload = row.text(15);
    return claimed;
}

} // namespace

base::Result<bool> may_claim(Connection& db, const SessionKey& session,
                             const ClaimRequest& request) {
    DEADMAN_TRY_STATUS(check_claim(db, session, request));
    return request.suspect ? has_suspect(db, request.queues) : has_claimable(db, request.queues);
}

base::Result<std::vector<Claimed>> claim_jobs(WriteContext& context, const SessionKey& session,
                                              const ClaimRequest& request) {
    DEADMAN_TRY_STATUS(check_claim(context.db, session, request));
    std::vector<ReadyRow> chosen;
    if (!request.suspect)
        chosen = choose(context.db, request);
    else if (!holds_anything(context.db, session)) // a suspect runs alone in its process
        chosen = choose_suspect(context.db, request);
    std::vector<Claimed> answer;
    if (chosen.empty())
        return answer;
    remember_claim(context, session, request.claim_no);
    give_fences(context, request, chosen);
    answer.reserve(chosen.size());
    for (ReadyRow& ready : chosen) {
        lease(context, session, request, static_cast<int>(answer.size()), ready);
        answer.push_back(std::move(ready.claimed));
    }
    return answer;
}

base::Result<std::vector<Claimed>> read_claim(Connection& db, const SessionKey& session,
                                              std::int64_t claim_no) {
    if (!is_live_session(db, session))
        return base::fail(ErrorCode::fenced, "the session has ended");
    std::vector<Claimed> answer;
    Cursor row = db.query(
        "SELECT l.job, l.fence, l.solo, l.attempts, l.lapse_score, l.crashes, l.claimed_at, "
        "j.kind, j.queue, j.max_attempts, j.retry_kind, j.retry_base, j.retry_cap, "
        "j.retry_jitter, j.timeout, j.payload FROM deadman_lease l JOIN deadman_job j ON j.id = "
        "l.job WHERE l.session = ?1 AND l.claim_no = ?2 ORDER BY l.slot",
        session.id.value, claim_no);
    while (row.next())
        answer.push_back(read_claimed(row));
    return answer;
}

bool has_claimable(Connection& db, std::span<const std::string> queues) {
    return std::ranges::any_of(queues, [&](const std::string& queue) {
        return db
            .query("SELECT 1 FROM deadman_ready WHERE queue = ?1 AND lane < 2 AND NOT EXISTS "
                   "(SELECT 1 FROM deadman_queue WHERE name = ?1 AND paused) LIMIT 1",
                   queue)
            .next();
    });
}

bool has_suspect(Connection& db, std::span<const std::string> queues) {
    return std::ranges::any_of(queues, [&](const std::string& queue) {
        for (int priority = 0; priority <= domain::max_priority; ++priority) {
            Cursor row = db.query("SELECT 1 FROM deadman_ready WHERE queue = ?1 AND priority = ?2 "
                                  "AND lane = 2 AND NOT EXISTS (SELECT 1 FROM deadman_queue WHERE "
                                  "name = ?1 AND paused) LIMIT 1",
                                  queue, priority);
            if (row.next())
                return true;
        }
        return false;
    });
}

} // namespace deadman::store::sqlite
