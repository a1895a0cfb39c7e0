#include <algorithm>

#include "deadman/domain/payload.h"
#include "deadman/store/postgres/internal/array_text.h"
#include "deadman/store/postgres/internal/effects.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {

using base::ErrorCode;
using domain::AnswerKind;
using domain::Verdict;

namespace {

const Statement batch_statement{
    "complete_batch", "select * from deadman.complete_batch($1, $2, $3, $4, $5, $6, $7, $8, $9)"};
const Statement all_statement{"complete_all", "select deadman.complete_all($1, $2, $3, $4)"};
// Behind a pooler the driver does not know the server's process.
const Statement guard_statement{
    "guard", "select deadman.guard($1, $2, deadman.run_key($3, $1, $2)), pg_backend_pid()"};
const Statement complete_statement{
    "complete", "select deadman.complete($1, $2, deadman.run_key($3, $1, $2), $4)"};
const Statement cancel_backend{"cancel_backend", "select pg_cancel_backend($1)"};
const Statement hand_back_statement{"hand_back_as_transactional",
                                    "select deadman.hand_back_as_transactional($1, $2, $3, $4)"};

int outcome_number(AnswerKind kind) {
    switch (kind) {
    case AnswerKind::succeeded:
        return 1;
    case AnswerKind::failed:
        return 2;
    case AnswerKind::cancelled:
        return 3;
    case AnswerKind::error:
        return 10;
    case AnswerKind::snooze:
        return 12;
    case AnswerKind::release:
        return 13;
    }
    return 10;
}

Verdict parse_verdict(std::string_view text) {
    for (const Verdict verdict : {Verdict::ok, Verdict::cancelled, Verdict::repeat, Verdict::busy})
        if (domain::verdict_name(verdict) == text)
            return verdict;
    return Verdict::fenced;
}

// A handler's result must never keep its run from ending: what cannot be stored is left out.
std::string_view storable_result(std::string_view result) {
    const bool good = !result.empty() &&
                      domain::validate_payload(result, {.max_bytes = domain::largest_result_bytes});
    return good ? result : std::string_view{};
}

pqxx::params batch_parameters(const SessionKey& session, std::span<const RunEnd> ends) {
    ArrayText fences;
    ArrayText ids;
    ArrayText outcomes;
    ArrayText results;
    ArrayText reasons;
    ArrayText messages;
    ArrayText delays;
    for (const RunEnd& end : ends) {
        fences.add(end.run.fence.value);
        ids.add(end.run.job.value);
        outcomes.add(outcome_number(end.answer.kind));
        results.add_or_null(storable_result(end.answer.result));
        reasons.add_or_null(domain::clean_text(end.answer.reason, domain::max_name_bytes));
        messages.add_or_null(domain::clean_text(end.answer.message, domain::largest_message_bytes));
        delays.add(
            std::clamp(end.answer.delay, base::Duration{}, domain::latest_time.time_since_epoch())
                .count());
    }
    return {session.id.value, session.key,    fences.take(),   ids.take(),   outcomes.take(),
            results.take(),   reasons.take(), messages.take(), delays.take()};
}

bool may_end_whole_lease(std::span<const RunEnd> ends) {
    return std::ranges::all_of(ends, [&](const RunEnd& end) {
        return end.run.fence == ends.front().run.fence &&
               end.answer.kind == AnswerKind::succeeded && end.answer.result.empty() &&
               end.answer.reason.empty() && end.answer.message.empty();
    });
}

} // namespace

base::Result<std::vector<Verdict>> Store::complete(const SessionKey& session,
                                                   std::span<const RunEnd> ends) {
    if (ends.empty())
        return std::vector<Verdict>{};
    if (may_end_whole_lease(ends)) {
        DEADMAN_TRY(const bool whole, complete_whole_lease(session, ends));
        if (whole)
            return std::vector<Verdict>(ends.size(), Verdict::ok);
    }
    return complete_general(session, ends);
}

base::Result<bool> Store::complete_whole_lease(const SessionKey& session,
                                               std::span<const RunEnd> ends) {
    std::vector<std::int64_t> sorted;
    sorted.reserve(ends.size());
    for (const RunEnd& end : ends)
        sorted.push_back(end.run.job.value);
    std::ranges::sort(sorted);
    ArrayText ids;
    for (const std::int64_t id : sorted)
        ids.add(id);
    DEADMAN_TRY(const pqxx::result answer,
                query(all_statement,
                      {session.id.value, session.key, ends.front().run.fence.value, ids.take()},
                      Sent::deciding));
    return answer[0][0].as<bool>();
}

// A batch with a row that the server cannot store is halved until that row is alone; it then ends
// without what it said.
base::Result<std::vector<Verdict>> Store::complete_general(const SessionKey& session,
                                                           std::span<const RunEnd> ends) {
    auto rows = query(batch_statement, batch_parameters(session, ends), Sent::deciding);
    if (rows) {
        std::vector<Verdict> verdicts;
        verdicts.reserve(ends.size());
        for (const auto& row : *rows)
            verdicts.push_back(parse_verdict(row[0].view()));
        return verdicts;
    }
    if (rows.error().code != ErrorCode::invalid_argument)
        return std::move(rows).error();
    if (ends.size() > 1)
        return complete_halves(session, ends);
    RunEnd bare = ends.front();
    if (bare.answer.result.empty() && bare.answer.message.empty() && bare.answer.reason.empty())
        return std::move(rows).error();
    bare.answer.result.clear();
    bare.answer.message.clear();
    bare.answer.reason.clear();
    return complete_general(session, {&bare, 1});
}

// An end that the server refuses even bare must not keep the others from ending: it is told to come
// again.
base::Result<std::vector<Verdict>> Store::complete_halves(const SessionKey& session,
                                                          std::span<const RunEnd> ends) {
    const std::size_t half = ends.size() / 2;
    std::vector<Verdict> all;
    for (const auto part : {ends.first(half), ends.subspan(half)}) {
        auto verdicts = complete_general(session, part);
        if (!verdicts && verdicts.error().code != ErrorCode::invalid_argument)
            return std::move(verdicts).error();
        if (verdicts)
            all.insert(all.end(), verdicts->begin(), verdicts->end());
        else
            all.insert(all.end(), part.size(), Verdict::busy);
    }
    return all;
}

base::Status Store::transact(const SessionKey& session, const RunKey& run,
                             std::string_view result_json, const EffectBody& body) {
    if (!result_json.empty())
        DEADMAN_TRY_STATUS(
            domain::validate_payload(result_json, {.max_bytes = domain::largest_result_bytes}));
    Remedy remedy = Remedy::none;
    base::Status done = transact_once(session, run, result_json, body, remedy);
    if (remedy != Remedy::own_lease)
        return done;
    DEADMAN_TRY_STATUS(query(hand_back_statement,
                             {session.id.value, session.key, run.fence.value, run.job.value},
                             Sent::deciding));
    return base::fail(ErrorCode::conflict,
                      "the run shared its lease: it was handed back and runs again with its own");
}

base::Status Store::transact_once(const SessionKey& session, const RunKey& run,
                                  std::string_view result_json, const EffectBody& body,
                                  Remedy& remedy) {
    DEADMAN_TRY(auto connection, effects_pool_.acquire());
    Sent sent = Sent::writing;
    try {
        auto watched = connection->watch(Pace::quick);
        pqxx::work work(connection->raw());
        const pqxx::params key{run.job.value, run.fence.value, session.key};
        const int backend = connection->query(work, guard_statement, key)[0][1].as<int>();
        watched.pause();
        {
            Effects effects(work, watched, connection->patience(Pace::unhurried),
                            [this, backend] { cancel_statement_of(backend); });
            const base::Status done = effects.run(body);
            if (effects.is_cancelled())
                connection.discard_later();
            if (!done)
                return done.error();
        }
        watched.restart(connection->patience(Pace::quick));
        connection->query(
            work, complete_statement,
            {run.job.value, run.fence.value, session.key, null_if_empty(result_json)});
        sent = Sent::deciding;
        work.commit();
        return {};
    } catch (const std::exception& exception) {
        Failure failure = translate_failure(exception, sent);
        if (failure.connection_lost)
            connection.discard();
        if (failure.remedy == Remedy::make_partitions || failure.remedy == Remedy::raise_fence)
            mend(failure, 0); // the body is not run twice here: the caller repeats
        remedy = failure.remedy;
        return std::move(failure.error);
    }
}

// A connection of its own: those of the pools may all be in such statements.
void Store::cancel_statement_of(int backend) {
    try {
        Connection other(settings_);
        other.query(cancel_backend, {backend});
    } catch (const std::exception&) {
        return; // the connection is cut a moment later
    }
}

} // namespace deadman::store::postgres
