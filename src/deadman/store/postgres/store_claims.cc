#include "deadman/store/postgres/internal/array_text.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {

using base::ErrorCode;

namespace {

// Numbers so far behind the newest cannot be in flight any more.
constexpr std::int64_t remembered_claim_numbers = 4'096;

const Statement claim_statement{
    "claim", "select * from deadman.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
const Statement suspect_statement{"claim_suspect",
                                  "select * from deadman.claim_suspect($1, $2, $3, $4)"};
const Statement result_statement{"claim_result", "select * from deadman.claim_result($1, $2, $3)"};
const Statement retract_statement{"retract", "delete from deadman.waiter where store = $1"};

enum Column {
    id,
    fence,
    solo,
    queue,
    queue_name,
    priority,
    lane,
    ticket,
    attempt,
    lapses,
    crashes,
    claimed_us,
    kind,
    payload,
    max_attempts,
    retry,
    timeout_us
};

base::Result<domain::RetryPolicy> read_retry(const pqxx::field& field) {
    if (field.is_null())
        return domain::RetryPolicy{};
    return domain::parse_retry_policy(field.view());
}

base::Result<Claimed> read_claimed(const pqxx::row& row) {
    Claimed claimed;
    claimed.run = {{row[id].as<std::int64_t>()}, {row[fence].as<std::int64_t>()}};
    claimed.solo = row[solo].as<bool>();
    claimed.kind = row[kind].view();
    claimed.queue = row[queue_name].view();
    claimed.payload = row[payload].view();
    claimed.attempts_spent = row[attempt].as<int>();
    claimed.max_attempts = row[max_attempts].as<int>();
    DEADMAN_TRY(claimed.retry, read_retry(row[retry]));
    claimed.timeout = base::Duration{row[timeout_us].as<std::int64_t>()};
    claimed.blame = {.lapse_score = row[lapses].as<int>(), .crashes = row[crashes].as<int>()};
    claimed.claimed_at = base::from_micros(row[claimed_us].as<std::int64_t>());
    return claimed;
}

base::Result<std::vector<Claimed>> read_all(const pqxx::result& rows) {
    std::vector<Claimed> all;
    all.reserve(static_cast<std::size_t>(rows.size()));
    for (const auto& row : rows) {
        DEADMAN_TRY(Claimed claimed, read_claimed(row));
        all.push_back(std::move(claimed));
    }
    return all;
}

void add_ticket(ArrayText& column, std::int64_t known) {
    known < 0 ? column.add_null() : column.add(known);
}

/// The cursors as columns. `earlier` has no places that `current` lacks.
pqxx::params claim_parameters(const SessionKey& session, const ClaimRequest& request,
                              const CursorMap& current, const CursorMap& earlier) {
    ArrayText queues;
    ArrayText priorities;
    ArrayText returned;
    ArrayText fresh;
    ArrayText returned_before;
    ArrayText fresh_before;
    for (const auto& [place, pair] : current) {
        queues.add(place.queue);
        priorities.add(place.priority);
        add_ticket(returned, pair.returned);
        add_ticket(fresh, pair.fresh);
        const auto before = earlier.find(place);
        const CursorPair old = before == earlier.end() ? CursorPair{} : before->second;
        add_ticket(returned_before, std::min(old.returned, pair.returned));
        add_ticket(fresh_before, std::min(old.fresh, pair.fresh));
    }
    return {session.id.value,
            session.key,
            request.claim_no,
            request.max,
            text_array(request.queues),
            queues.take(),
            priorities.take(),
            returned.take(),
            fresh.take(),
            returned_before.take(),
            fresh_before.take()};
}

void remember(std::set<std::int64_t>& numbers, std::int64_t number) {
    numbers.insert(number);
    numbers.erase(numbers.begin(),
                  numbers.lower_bound(*numbers.rbegin() - remembered_claim_numbers));
}

} // namespace

base::Result<std::vector<Claimed>> Store::claim(const SessionKey& session,
                                                const ClaimRequest& request) {
    if (request.max < 1)
        return base::fail(ErrorCode::invalid_argument, "max: must be at least 1");
    const auto link = link_of(session);
    const Statement* statement = &suspect_statement;
    pqxx::params parameters{session.id.value, session.key, request.claim_no,
                            text_array(request.queues)};
    {
        const std::lock_guard lock(link->mutex);
        if (link->claim_numbers.contains(request.claim_no))
            return base::fail(ErrorCode::conflict, "claim " + std::to_string(request.claim_no) +
                                                       " has been made before");
        if (!request.suspect) {
            statement = &claim_statement;
            parameters = claim_parameters(session, request, link->cursors.current(),
                                          link->cursors.earlier(clock_.steady_now()));
        }
    }
    auto rows = query(*statement, parameters, Sent::deciding);
    if (!rows) {
        base::Error error = std::move(rows).error();
        if (error.code == ErrorCode::already_exists) { // the lease's (session, claim number, slot)
            error.code = ErrorCode::conflict;
            error.message = "claim " + std::to_string(request.claim_no) + " has been made before";
        }
        return error;
    }
    if (!rows->empty()) {
        const std::lock_guard lock(link->mutex);
        remember(link->claim_numbers, request.claim_no);
        for (const auto& row : *rows)
            link->cursors.advance({row[queue].as<int>(), row[priority].as<int>()},
                                  row[lane].as<int>(), row[ticket].as<std::int64_t>());
    }
    if (!rows->empty())
        if (const std::string name = listener_.take_stale_announcement(); !name.empty())
            (void)query(retract_statement, {name}, Sent::reading);
    return read_all(*rows);
}

base::Result<std::vector<Claimed>> Store::claim_result(const SessionKey& session,
                                                       std::int64_t claim_no) {
    DEADMAN_TRY(const pqxx::result rows,
                query(result_statement, {session.id.value, session.key, claim_no}, Sent::reading));
    return read_all(rows);
}

} // namespace deadman::store::postgres
