// Ends of runs: every answer, every verdict, batches, and that nothing a handler says blocks an
// end.

#include <algorithm>

#include "deadman/domain/payload.h"
#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;
using domain::JobState;
using domain::Outcome;
using domain::Verdict;

TEST_P(JobStoreContract, SucceededRunKeepsItsResult) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session("w-3");
    const store::Claimed claimed = claim_one(session);
    domain::Answer done;
    done.result = "{\"n\": 18446744073709551615 , \"s\":\"\xC3\xA9\"}";
    EXPECT_EQ(complete(session, claimed.run, done), Verdict::ok);
    const store::JobRecord found = record(id);
    EXPECT_EQ(found.state, JobState::succeeded);
    EXPECT_EQ(found.result, done.result);
    EXPECT_EQ(found.attempts_spent, 1);
    EXPECT_EQ(found.fence, claimed.run.fence);
    EXPECT_TRUE(found.finished_at);
    EXPECT_FALSE(found.session);
    ASSERT_EQ(runs(id).size(), 1u);
    const store::RunRecord run = runs(id)[0];
    EXPECT_EQ(run.outcome, Outcome::succeeded);
    EXPECT_EQ(run.fence, claimed.run.fence);
    EXPECT_EQ(run.attempts_spent, 1);
    EXPECT_EQ(run.session, session.key.id);
    EXPECT_EQ(run.claimed_at, claimed.claimed_at);
    EXPECT_TRUE(run.finished_at);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, ErrorIsTriedAgainUntilTheAttemptsAreSpent) {
    domain::JobSpec made = spec();
    made.max_attempts = 2;
    const domain::JobId id = enqueue(made);
    const store::Session session = open_session();
    domain::Answer bad = answer(AnswerKind::error, 10s);
    bad.reason = "timeout";
    bad.message = "took too long";
    EXPECT_EQ(complete(session, claim_one(session).run, bad), Verdict::ok);
    store::JobRecord found = record(id);
    EXPECT_EQ(found.state, JobState::scheduled);
    EXPECT_EQ(found.attempts_spent, 1);
    EXPECT_EQ(found.message, bad.message);
    EXPECT_FALSE(found.finished_at);
    const base::Duration wait = found.due - value(store().now());
    EXPECT_LE(wait, 10s);
    EXPECT_GT(wait, 5s);
    EXPECT_EQ(runs(id).at(0).outcome, Outcome::retry);
    EXPECT_EQ(runs(id).at(0).reason, "timeout");
    EXPECT_EQ(runs(id).at(0).attempts_spent, 1);

    pass(8s, {session});
    EXPECT_TRUE(claim(session).empty());
    pass(3s, {session});
    const store::Claimed second = claim_one(session);
    EXPECT_EQ(second.attempts_spent, 1);
    bad.message = "again";
    EXPECT_EQ(complete(session, second.run, bad), Verdict::ok);
    found = record(id);
    EXPECT_EQ(found.state, JobState::failed);
    EXPECT_EQ(found.attempts_spent, 2);
    EXPECT_EQ(found.reason, "timeout");
    EXPECT_EQ(found.message, "again");
    EXPECT_TRUE(found.finished_at);
    ASSERT_EQ(runs(id).size(), 2u);
    EXPECT_EQ(runs(id)[1].outcome, Outcome::failed);
    EXPECT_LT(runs(id)[0].fence, runs(id)[1].fence);
}

TEST_P(JobStoreContract, FailedIsForGood) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    domain::Answer bad = answer(AnswerKind::failed);
    bad.reason = "unknown_kind";
    bad.message = "no handler";
    EXPECT_EQ(complete(session, claim_one(session).run, bad), Verdict::ok);
    EXPECT_EQ(state(id), JobState::failed);
    EXPECT_EQ(record(id).reason, "unknown_kind");
    EXPECT_EQ(record(id).message, "no handler");
    EXPECT_EQ(record(id).attempts_spent, 1);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, SnoozeSpendsNothing) {
    domain::JobSpec made = spec();
    made.max_attempts = 1;
    const domain::JobId id = enqueue(made);
    const store::Session session = open_session();
    for (int time = 1; time <= 3; ++time) {
        EXPECT_EQ(complete(session, claim_one(session).run, answer(AnswerKind::snooze, 2s)),
                  Verdict::ok);
        EXPECT_EQ(state(id), JobState::scheduled);
        EXPECT_EQ(record(id).attempts_spent, 0);
        EXPECT_EQ(record(id).snoozes, time);
        pass(3s, {session});
    }
    EXPECT_EQ(runs(id).at(2).outcome, Outcome::snooze);
    EXPECT_EQ(succeed(session, claim_one(session).run), Verdict::ok);
    EXPECT_EQ(record(id).attempts_spent, 1);
}

TEST_P(JobStoreContract, ReleaseIsClaimableAtOnceAndSpendsNothing) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    domain::Answer back = answer(AnswerKind::release);
    back.reason = "drain";
    EXPECT_EQ(complete(session, claim_one(session).run, back), Verdict::ok);
    EXPECT_EQ(state(id), JobState::pending);
    EXPECT_EQ(record(id).attempts_spent, 0);
    EXPECT_EQ(record(id).snoozes, 0);
    EXPECT_EQ(runs(id).at(0).outcome, Outcome::release);
    EXPECT_EQ(runs(id).at(0).reason, "drain");
    EXPECT_EQ(ids_of(claim(open_session())), std::vector{id});
}

TEST_P(JobStoreContract, CancelledAnswerAfterACancelIsOk) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    EXPECT_EQ(value(store().cancel(id)), store::CancelAnswer::requested);
    EXPECT_EQ(complete(session, claimed.run, answer(AnswerKind::cancelled)), Verdict::ok);
    EXPECT_EQ(state(id), JobState::cancelled);
    EXPECT_EQ(record(id).attempts_spent, 0);
    EXPECT_EQ(runs(id).at(0).outcome, Outcome::cancelled);
}

TEST_P(JobStoreContract, RepeatedEndIsRecognised) {
    const store::Session session = open_session();
    for (const AnswerKind kind : {AnswerKind::succeeded, AnswerKind::failed, AnswerKind::error,
                                  AnswerKind::snooze, AnswerKind::release}) {
        const domain::JobId id = enqueue(spec());
        const store::Claimed claimed = claim_one(session);
        ASSERT_EQ(claimed.run.job, id);
        EXPECT_EQ(complete(session, claimed.run, answer(kind, 1h)), Verdict::ok);
        const JobState after = state(id);
        EXPECT_EQ(complete(session, claimed.run, answer(kind, 1h)), Verdict::repeat);
        // Whatever the second try says, the first one's end stands.
        EXPECT_EQ(complete(session, claimed.run, answer(AnswerKind::failed)), Verdict::repeat);
        EXPECT_EQ(state(id), after);
        EXPECT_EQ(runs(id).size(), 1u);
        value(store().cancel(id));
    }
}

TEST_P(JobStoreContract, RepeatIsToldAlsoWhenTheJobHasMovedOn) {
    const domain::JobId id = enqueue(spec());
    const store::Session first = open_session();
    const store::Claimed old = claim_one(first);
    EXPECT_EQ(complete(first, old.run, answer(AnswerKind::release)), Verdict::ok);
    const store::Session second = open_session();
    const store::Claimed current = claim_one(second);
    EXPECT_EQ(complete(first, old.run, answer(AnswerKind::release)), Verdict::repeat);
    EXPECT_EQ(state(id), JobState::running);
    EXPECT_EQ(succeed(second, current.run), Verdict::ok);
    EXPECT_EQ(complete(first, old.run, answer(AnswerKind::release)), Verdict::repeat);
    EXPECT_EQ(state(id), JobState::succeeded);
}

TEST_P(JobStoreContract, StaleFenceChangesNothing) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    for (const std::int64_t offset : {-1, 1, 1'000'000}) {
        const store::RunKey stale{id, {claimed.run.fence.value + offset}};
        for (const AnswerKind kind : {AnswerKind::succeeded, AnswerKind::error, AnswerKind::failed,
                                      AnswerKind::snooze, AnswerKind::release})
            EXPECT_EQ(complete(session, stale, answer(kind)), Verdict::fenced);
    }
    EXPECT_EQ(state(id), JobState::running);
    EXPECT_EQ(record(id).attempts_spent, 0);
    EXPECT_EQ(runs(id).size(), 1u);
    EXPECT_EQ(succeed(session, claimed.run), Verdict::ok);
}

TEST_P(JobStoreContract, FenceOfAnotherJobIsFenced) {
    const auto ids = enqueue_many(2, spec());
    const store::Session session = open_session();
    const store::Claimed first = claim_one(session);
    const store::Claimed second = claim_one(session);
    EXPECT_EQ(succeed(session, {first.run.job, second.run.fence}), Verdict::fenced);
    EXPECT_EQ(succeed(session, {{ids[1].value + 1'000}, second.run.fence}), Verdict::fenced);
    EXPECT_EQ(state(ids[0]), JobState::running);
    EXPECT_EQ(state(ids[1]), JobState::running);
}

TEST_P(JobStoreContract, VerdictsComeInTheOrderOfTheEnds) {
    const auto ids = enqueue_many(5, spec());
    const store::Session session = open_session();
    const store::Session other = open_session();
    const auto claimed = claim(session, 4);
    const store::Claimed foreign = claim_one(other);
    succeed(session, claimed[1].run);
    value(store().cancel(ids[2]));
    const store::RunKey stale{ids[3], {claimed[3].run.fence.value - 1}};
    const std::vector<store::RunEnd> ends{
        {stale, {}},          {claimed[2].run, {}},
        {foreign.run, {}},    {claimed[0].run, answer(AnswerKind::error, 1h)},
        {claimed[1].run, {}}, {claimed[3].run, answer(AnswerKind::failed)},
    };
    EXPECT_EQ(value(store().complete(session.key, ends)),
              (std::vector{Verdict::fenced, Verdict::cancelled, Verdict::fenced, Verdict::ok,
                           Verdict::repeat, Verdict::ok}));
    EXPECT_EQ(state(ids[0]), JobState::scheduled);
    EXPECT_EQ(state(ids[1]), JobState::succeeded);
    EXPECT_EQ(state(ids[2]), JobState::cancelled);
    EXPECT_EQ(state(ids[3]), JobState::failed);
    EXPECT_EQ(state(ids[4]), JobState::running);
}

TEST_P(JobStoreContract, ClaimMayEndInParts) {
    enqueue_many(10, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    for (const auto& [from, to] : {std::pair{7, 10}, std::pair{0, 1}, std::pair{1, 7}}) {
        std::vector<store::RunEnd> ends;
        for (int i = from; i < to; ++i)
            ends.push_back({claimed[static_cast<std::size_t>(i)].run, {}});
        for (const Verdict verdict : value(store().complete(session.key, ends)))
            EXPECT_EQ(verdict, Verdict::ok);
    }
    EXPECT_EQ(outstanding(), 0);
    EXPECT_TRUE(renew(session).leases.empty());
}

TEST_P(JobStoreContract, CompleteOfNothingIsFine) {
    EXPECT_TRUE(value(store().complete(open_session().key, {})).empty());
}

TEST_P(JobStoreContract, AnswerClearsTheBlameAndAReleaseKeepsIt) {
    domain::JobSpec made = spec();
    made.max_attempts = 5;
    const domain::JobId id = enqueue(made);
    const auto lapse_once = [&] {
        ASSERT_EQ(claim(open_session()).size(), 1u);
        let_lapse();
        ASSERT_EQ(record(id).blame, (domain::Blame{1, 1}));
    };
    lapse_once();
    store::Session session = open_session();
    EXPECT_EQ(claim_one(session).blame, (domain::Blame{1, 1}));
    complete(session, {id, *record(id).fence}, answer(AnswerKind::release));
    EXPECT_EQ(record(id).blame, (domain::Blame{1, 1}));

    complete(session, claim_one(session).run, answer(AnswerKind::error, 1s));
    EXPECT_EQ(record(id).blame, domain::Blame{});
    pass(2s);
    lapse_once();
    session = open_session();
    complete(session, claim_one(session).run, answer(AnswerKind::snooze, 1s));
    EXPECT_EQ(record(id).blame, domain::Blame{});
    pass(2s);
    lapse_once();
    session = open_session();
    succeed(session, claim_one(session).run);
    EXPECT_EQ(record(id).blame, domain::Blame{});
}

TEST_P(JobStoreContract, ReleasedSuspectIsStillASuspect) {
    const domain::JobId suspect = make_suspect("pills");
    const store::Session session = open_session();
    store::ClaimRequest request = claim_request(1, {"pills"});
    request.suspect = true;
    const auto claimed = value(store().claim(session.key, request));
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(complete(session, claimed[0].run, answer(AnswerKind::release)), Verdict::ok);
    EXPECT_EQ(state(suspect), JobState::pending);
    EXPECT_TRUE(claim(session, 100, {"pills"}).empty());
}

TEST_P(JobStoreContract, BackoffPastTheEndOfTimeIsCut) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    EXPECT_EQ(complete(session, claimed.run, answer(AnswerKind::error, base::Duration::max())),
              Verdict::ok);
    EXPECT_EQ(state(id), JobState::scheduled);
    EXPECT_LE(record(id).due, domain::latest_time);
    EXPECT_GT(record(id).due, value(store().now()) + 24h * 365);
}

TEST_P(JobStoreContract, TextOfAHandlerNeverBlocksAnEnd) {
    const std::vector<std::string> texts{std::string("nul \0 in it", 11),
                                         "\xC3\x28",
                                         "\x97",
                                         "cut \xF0\x9F\x98",
                                         "lone \xED\xA0\x80 surrogate",
                                         std::string(domain::largest_message_bytes, 'x') +
                                             "\xF0\x9F\x98\x80",
                                         "quote ' \" \\ \x1b[31m <script>"};
    const store::Session session = open_session();
    for (const std::string& text : texts) {
        const domain::JobId id = enqueue(spec());
        domain::Answer bad = answer(AnswerKind::failed);
        bad.message = text;
        bad.reason = text.substr(0, 10);
        ASSERT_EQ(complete(session, claim_one(session).run, bad), Verdict::ok);
        const store::JobRecord found = record(id);
        EXPECT_EQ(found.state, JobState::failed);
        EXPECT_FALSE(found.message.empty());
        EXPECT_EQ(domain::clean_text(found.message, 8 << 20), found.message);
        EXPECT_LE(found.message.size(), domain::largest_message_bytes);
        EXPECT_EQ(domain::clean_text(found.reason, 1 << 20), found.reason);
    }
}

TEST_P(JobStoreContract, ResultThatCannotBeStoredNeverBlocksAnEnd) {
    const std::vector<std::string> results{
        "{", std::string("{\"a\":\"\0\"}", 9), R"({"a":"\u0000"})", "\"\xC3\x28\"",
        '"' + std::string(domain::largest_result_bytes, 'x') + '"'};
    const store::Session session = open_session();
    for (const std::string& result : results) {
        const domain::JobId id = enqueue(spec());
        domain::Answer done;
        done.result = result;
        ASSERT_EQ(complete(session, claim_one(session).run, done), Verdict::ok);
        const store::JobRecord found = record(id);
        EXPECT_EQ(found.state, JobState::succeeded);
        EXPECT_TRUE(found.result.empty() || domain::validate_payload(found.result))
            << found.result.substr(0, 40);
    }
}

TEST_P(JobStoreContract, LargestResultIsKept) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    domain::Answer done;
    done.result = '"' + std::string(domain::largest_result_bytes - 2, 'x') + '"';
    EXPECT_EQ(complete(session, claim_one(session).run, done), Verdict::ok);
    EXPECT_TRUE(record(id).result == done.result);
}

TEST_P(JobStoreContract, OneBadRowDoesNotFailTheOthers) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    std::vector<store::RunEnd> ends;
    for (const store::Claimed& one : claimed)
        ends.push_back({one.run, {}});
    ends[1].answer.result = "{ not json \xFF";
    ends[1].answer.message = std::string("\0\xFF", 2);
    for (const Verdict verdict : value(store().complete(session.key, ends)))
        EXPECT_EQ(verdict, Verdict::ok);
    for (const domain::JobId id : ids)
        EXPECT_EQ(state(id), JobState::succeeded);
}

} // namespace
} // namespace deadman::contract
