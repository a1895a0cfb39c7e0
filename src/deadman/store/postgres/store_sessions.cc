#include <algorithm>

#include "deadman/domain/payload.h"
#include "deadman/store/postgres/internal/array_text.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {

using base::ErrorCode;

namespace {

constexpr std::size_t max_note_bytes = 1024;

const Statement register_session_statement{
    "register_session",
    "select * from deadman.register_session($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"};
const Statement lock_session{"lock_session",
                             "select pg_try_advisory_lock(5917, deadman.session_lock($1))"};
const Statement renew_statement{"renew", "select * from deadman.renew($1, $2, $3)"};
const Statement publish_statement{"publish_cursors",
                                  "select deadman.publish_cursors($1, $2, $3, $4, $5)"};
const Statement progress_statement{"note_progress",
                                   "select deadman.note_progress($1, $2, $3, $4, $5)"};
const Statement end_statement{"end_session", "select deadman.end_session($1, $2, $3)"};
const Statement return_statement{"return_runs",
                                 "select * from deadman.reap_leases(0, 0, $1, 100000)", Pace::slow};
const Statement list_statement{"session_list", "select * from deadman.session_list()"};

Renewal read_renewal(const pqxx::result& rows) {
    Renewal renewal;
    for (const auto& row : rows) {
        HeldLease lease;
        lease.fence = {row[0].as<std::int64_t>()};
        lease.claim_no = row[1].as<std::int64_t>();
        for (const std::int64_t id : parse_bigints(row[2].view()))
            lease.unended.push_back({id});
        for (const std::int64_t id : parse_bigints(row[3].view()))
            lease.cancel_requested.push_back({id});
        renewal.leases.push_back(std::move(lease));
    }
    return renewal;
}

std::string bigint_array(const std::set<std::int64_t>& values) {
    ArrayText array;
    for (const std::int64_t value : values)
        array.add(value);
    return array.take();
}

/// What a renewal names as started is kept until the store says that it has ended.
void keep_unended(std::set<std::int64_t>& started, const Renewal& renewal) {
    std::set<std::int64_t> unended;
    for (const HeldLease& lease : renewal.leases)
        for (const domain::JobId id : lease.unended)
            unended.insert(id.value);
    std::erase_if(started, [&](std::int64_t id) { return !unended.contains(id); });
}

} // namespace

std::shared_ptr<SessionLink> Store::link_of(const SessionKey& session) {
    const std::lock_guard lock(mutex_);
    auto& link = links_[session.id];
    if (!link)
        link = std::make_shared<SessionLink>();
    return link;
}

void Store::forget_link(domain::SessionId id) {
    const std::lock_guard lock(mutex_);
    links_.erase(id);
}

base::Result<Session> Store::register_session(const SessionSpec& spec) {
    settings_.bound_stalls(spec.terms.lease / 2);
    const bool hints = !options_.through_pooler;
    DEADMAN_TRY(const pqxx::result made,
                query(register_session_statement,
                      {domain::clean_text(spec.worker, domain::max_name_bytes),
                       domain::clean_text(spec.host, domain::max_name_bytes), spec.pid,
                       domain::clean_text(spec.version, domain::max_name_bytes),
                       text_array(spec.queues), text_array(spec.kinds), spec.slots,
                       spec.terms.lease.count(), hints, text_array(spec.solo_kinds)},
                      Sent::deciding));
    Session session;
    session.key = {{made[0][0].as<std::int64_t>()}, made[0][1].as<std::string>()};
    session.renew_every = hints ? spec.terms.hint_heartbeat : spec.terms.heartbeat;
    session.cancel_after =
        hints ? domain::cancel_after_with_hints(spec.terms) : domain::cancel_after(spec.terms);
    session.leave_after = domain::leave_after(spec.terms);
    const auto link = link_of(session.key);
    link->hints = hints;
    // The lock is on before the first claim; without it the lease alone counts.
    (void)renew(session.key, {});
    return session;
}

base::Result<Renewal> Store::renew(const SessionKey& session, const RenewRequest& request) {
    const auto link = link_of(session);
    const std::lock_guard renewing(link->renew_mutex);
    std::optional<std::string> started;
    {
        const std::lock_guard lock(link->mutex);
        const std::size_t before = link->started.size();
        for (const domain::JobId id : request.started)
            link->started.insert(id.value);
        if (link->started.size() != before)
            started = bigint_array(link->started);
    }
    auto renewed = renew_on_link(*link, session, {session.id.value, session.key, started});
    if (!renewed) {
        if (renewed.error().code == ErrorCode::fenced) {
            link->connection.reset();
            forget_link(session.id);
        } else if (started) { // not known to have arrived: to be named again
            const std::lock_guard lock(link->mutex);
            link->started.clear();
        }
        return std::move(renewed).error();
    }
    Renewal renewal = read_renewal(*renewed);
    {
        const std::lock_guard lock(link->mutex);
        keep_unended(link->started, renewal);
    }
    note_progress(session, request.progress);
    publish_cursors(*link, session);
    return renewal;
}

base::Result<pqxx::result> Store::renew_on_link(SessionLink& link, const SessionKey& session,
                                                const pqxx::params& parameters) {
    if (!link.hints)
        return query(renew_statement, parameters, Sent::reading);
    for (int attempt = 0;; ++attempt) {
        try {
            if (link.connection && !link.connection->is_alive())
                link.connection.reset();
            if (!link.connection) {
                link.connection = std::make_unique<Connection>(settings_);
                link.has_lock = false;
            }
            link.connection->prepare_for_use();
            // Not waited for: a connection that broke may keep it for a while, and the renewal must
            // not.
            if (!link.has_lock)
                link.has_lock =
                    link.connection->query(lock_session, {session.id.value})[0][0].as<bool>();
            return link.connection->query(renew_statement, parameters);
        } catch (const std::exception& exception) {
            Failure failure = translate_failure(exception, Sent::reading);
            if (failure.connection_lost)
                link.connection.reset();
            if (!mend(failure, attempt))
                return std::move(failure.error);
        }
    }
}

void Store::note_progress(const SessionKey& session, std::span<const RunProgress> progress) {
    if (progress.empty())
        return;
    ArrayText jobs;
    ArrayText fences;
    ArrayText percents;
    ArrayText notes;
    for (const RunProgress& one : progress) {
        jobs.add(one.run.job.value);
        fences.add(one.run.fence.value);
        percents.add(std::clamp(one.percent, 0, 100));
        notes.add(domain::clean_text(one.note, max_note_bytes));
    }
    // For people: a note that is lost is followed by the next.
    (void)query(progress_statement,
                {session.id.value, jobs.take(), fences.take(), percents.take(), notes.take()},
                Sent::reading);
}

void Store::publish_cursors(SessionLink& link, const SessionKey& session) {
    ArrayText queues;
    ArrayText priorities;
    ArrayText lanes;
    ArrayText tickets;
    {
        const std::lock_guard lock(link.mutex);
        if (!link.cursors.take_changed())
            return;
        const auto add = [&](const CursorPlace& place, int lane, std::int64_t ticket) {
            if (ticket < 0)
                return;
            queues.add(place.queue);
            priorities.add(place.priority);
            lanes.add(lane);
            tickets.add(ticket);
        };
        for (const auto& [place, pair] : link.cursors.current()) {
            add(place, 0, pair.returned);
            add(place, 1, pair.fresh);
        }
    }
    // Lost ones are published again with the next change; until then the mark stays lower.
    (void)query(publish_statement,
                {session.id.value, queues.take(), priorities.take(), lanes.take(), tickets.take()},
                Sent::reading);
}

base::Status Store::end_session(const SessionKey& session, std::string_view reason) {
    DEADMAN_TRY(
        const pqxx::result ended,
        query(end_statement,
              {session.id.value, session.key, domain::clean_text(reason, domain::max_name_bytes)},
              Sent::reading));
    if (ended[0][0].as<bool>()) // otherwise it had ended, and what it held returns by the sweep
        DEADMAN_TRY_STATUS(query(return_statement, {session.id.value}, Sent::reading));
    const auto link = link_of(session);
    {
        const std::lock_guard renewing(link->renew_mutex);
        link->connection.reset();
    }
    forget_link(session.id);
    return {};
}

base::Result<std::vector<SessionRecord>> Store::sessions() {
    DEADMAN_TRY(const pqxx::result rows, query(list_statement, {}, Sent::reading));
    std::vector<SessionRecord> records;
    for (const auto& row : rows) {
        SessionRecord record;
        record.id = {row[0].as<std::int64_t>()};
        record.worker = row[1].as<std::string>();
        record.host = row[2].as<std::string>();
        record.pid = row[3].as<int>();
        record.version = row[4].as<std::string>();
        record.queues = parse_json_strings(row[5].view());
        record.kinds = parse_json_strings(row[6].view());
        record.slots = row[7].as<int>();
        record.running = row[8].as<int>();
        record.held = row[9].as<int>();
        record.started_at = base::from_micros(row[10].as<std::int64_t>());
        record.renewed_at = base::from_micros(row[11].as<std::int64_t>());
        record.lease_until = base::from_micros(row[12].as<std::int64_t>());
        if (!row[13].is_null())
            record.ended_at = base::from_micros(row[13].as<std::int64_t>());
        record.end_reason = row[14].as<std::string>("");
        records.push_back(std::move(record));
    }
    return records;
}

} // namespace deadman::store::postgres
