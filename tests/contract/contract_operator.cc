// Operators: cancel, retry, remove, in every state.

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::AnswerKind;
using domain::JobState;
using domain::Verdict;
using store::CancelAnswer;

constexpr domain::JobId nobody{1'234'567};

TEST_P(JobStoreContract, CancelOfWhatHasNotStartedIsAtOnce) {
    domain::JobSpec later = spec();
    later.delay = 1h;
    for (const domain::JobId id : {enqueue(spec()), enqueue(later)}) {
        EXPECT_EQ(value(store().cancel(id)), CancelAnswer::cancelled);
        EXPECT_EQ(state(id), JobState::cancelled);
        EXPECT_TRUE(record(id).finished_at);
        EXPECT_EQ(record(id).attempts_spent, 0);
        EXPECT_EQ(value(store().cancel(id)), CancelAnswer::already_finished);
    }
    EXPECT_EQ(outstanding(), 0);
    EXPECT_TRUE(claim(open_session()).empty());
    EXPECT_EQ(pass(2s).promoted, 0);
}

TEST_P(JobStoreContract, CancelOfWhatHasFinishedChangesNothing) {
    const auto ids = enqueue_many(2, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    succeed(session, claimed[0].run);
    complete(session, claimed[1].run, answer(AnswerKind::failed));
    EXPECT_EQ(value(store().cancel(ids[0])), CancelAnswer::already_finished);
    EXPECT_EQ(value(store().cancel(ids[1])), CancelAnswer::already_finished);
    EXPECT_EQ(state(ids[0]), JobState::succeeded);
    EXPECT_EQ(state(ids[1]), JobState::failed);
    EXPECT_EQ(value(store().cancel(nobody)), CancelAnswer::not_found);
}

TEST_P(JobStoreContract, AcceptedCancelWinsOverEveryAnswer) {
    const store::Session session = open_session();
    for (const AnswerKind kind : {AnswerKind::succeeded, AnswerKind::error, AnswerKind::failed,
                                  AnswerKind::snooze, AnswerKind::release}) {
        const domain::JobId id = enqueue(spec());
        const store::Claimed claimed = claim_one(session);
        EXPECT_EQ(value(store().cancel(id)), CancelAnswer::requested);
        EXPECT_EQ(value(store().cancel(id)), CancelAnswer::requested);
        EXPECT_EQ(state(id), JobState::running);
        EXPECT_TRUE(record(id).cancel_requested);
        EXPECT_EQ(complete(session, claimed.run, answer(kind)), Verdict::cancelled);
        EXPECT_EQ(state(id), JobState::cancelled);
        EXPECT_EQ(runs(id).at(0).outcome, domain::Outcome::cancelled);
        EXPECT_EQ(complete(session, claimed.run, answer(kind)), Verdict::repeat);
        EXPECT_EQ(value(store().cancel(id)), CancelAnswer::already_finished);
    }
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, CancelOfOneRunLeavesItsNeighboursAlone) {
    const auto ids = enqueue_many(5, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    EXPECT_EQ(value(store().cancel(ids[2])), CancelAnswer::requested);
    std::vector<store::RunEnd> ends;
    for (const store::Claimed& one : claimed)
        ends.push_back({one.run, {}});
    EXPECT_EQ(
        value(store().complete(session.key, ends)),
        (std::vector{Verdict::ok, Verdict::ok, Verdict::cancelled, Verdict::ok, Verdict::ok}));
}

TEST_P(JobStoreContract, AcceptedCancelSurvivesALapse) {
    const domain::JobId id = enqueue(spec());
    ASSERT_EQ(claim(open_session()).size(), 1u);
    EXPECT_EQ(value(store().cancel(id)), CancelAnswer::requested);
    let_lapse();
    EXPECT_EQ(state(id), JobState::cancelled);
    EXPECT_TRUE(claim(open_session()).empty());
    EXPECT_TRUE(claim_suspect(open_session()).empty());
}

TEST_P(JobStoreContract, AcceptedCancelSurvivesTheEndOfTheSession) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    ASSERT_EQ(claim(session).size(), 1u);
    EXPECT_EQ(value(store().cancel(id)), CancelAnswer::requested);
    EXPECT_TRUE(store().end_session(session.key, "drain"));
    pass(terms.sweep);
    EXPECT_EQ(state(id), JobState::cancelled);
}

TEST_P(JobStoreContract, CancelWinsOverQuarantine) {
    upkeep.crash.max_crashes = 1;
    const domain::JobId id = enqueue(spec());
    ASSERT_EQ(claim(open_session()).size(), 1u);
    EXPECT_EQ(value(store().cancel(id)), CancelAnswer::requested);
    let_lapse();
    EXPECT_EQ(state(id), JobState::cancelled);
}

TEST_P(JobStoreContract, CancelAfterARetryWasScheduledIsAtOnce) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    complete(session, claim_one(session).run, answer(AnswerKind::error, 1h));
    EXPECT_EQ(value(store().cancel(id)), CancelAnswer::cancelled);
    EXPECT_EQ(state(id), JobState::cancelled);
    EXPECT_EQ(record(id).attempts_spent, 1);
}

TEST_P(JobStoreContract, CancelOfReturnedWorkIsAtOnce) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    complete(session, claim_one(session).run, answer(AnswerKind::release));
    EXPECT_EQ(value(store().cancel(id)), CancelAnswer::cancelled);
    EXPECT_TRUE(claim(session).empty());
    const domain::JobId suspect = make_suspect("pills");
    EXPECT_EQ(value(store().cancel(suspect)), CancelAnswer::cancelled);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, RetryMakesFailedAndCancelledJobsPendingAsNew) {
    domain::JobSpec made = spec();
    made.max_attempts = 1;
    const auto ids = enqueue_many(2, made);
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    domain::Answer bad = answer(AnswerKind::error);
    bad.message = "broken";
    complete(session, claimed.run, bad);
    value(store().cancel(ids[1]));
    ASSERT_EQ(state(ids[0]), JobState::failed);
    for (const domain::JobId id : ids) {
        ASSERT_TRUE(store().retry(id));
        const store::JobRecord found = record(id);
        EXPECT_EQ(found.state, JobState::pending);
        EXPECT_EQ(found.attempts_spent, 0);
        EXPECT_EQ(found.blame, domain::Blame{});
        EXPECT_FALSE(found.finished_at);
        EXPECT_FALSE(found.cancel_requested);
        EXPECT_TRUE(found.reason.empty());
        EXPECT_EQ(found.payload, made.payload);
        EXPECT_EQ(code_of(store().retry(id)), ErrorCode::conflict);
    }
    EXPECT_EQ(outstanding(), 2);
    const auto again = claim(session);
    ASSERT_EQ(again.size(), 2u);
    for (const store::Claimed& one : again) {
        EXPECT_GT(one.run.fence, claimed.run.fence);
        EXPECT_EQ(succeed(session, one.run), Verdict::ok);
    }
    ASSERT_EQ(runs(ids[0]).size(), 2u);
    EXPECT_EQ(runs(ids[0])[0].outcome, domain::Outcome::failed);
    EXPECT_EQ(runs(ids[0])[1].outcome, domain::Outcome::succeeded);
    EXPECT_EQ(state(ids[0]), JobState::succeeded);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, RetriedJobOfACancelRunsAndIsNotCancelledAgain) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    value(store().cancel(id));
    succeed(session, claimed.run);
    ASSERT_EQ(state(id), JobState::cancelled);
    ASSERT_TRUE(store().retry(id));
    EXPECT_EQ(succeed(session, claim_one(session).run), Verdict::ok);
    EXPECT_EQ(state(id), JobState::succeeded);
}

TEST_P(JobStoreContract, RetryOfAnythingElseIsRefused) {
    domain::JobSpec later = spec();
    later.delay = 1h;
    const auto ids = enqueue_many(3, spec());
    const domain::JobId scheduled = enqueue(later);
    const store::Session session = open_session();
    succeed(session, claim_one(session).run);
    claim_one(session);
    EXPECT_EQ(code_of(store().retry(ids[0])), ErrorCode::conflict);
    EXPECT_EQ(code_of(store().retry(ids[1])), ErrorCode::conflict);
    EXPECT_EQ(code_of(store().retry(ids[2])), ErrorCode::conflict);
    EXPECT_EQ(code_of(store().retry(scheduled)), ErrorCode::conflict);
    EXPECT_EQ(code_of(store().retry(nobody)), ErrorCode::not_found);
    EXPECT_EQ(state(ids[0]), JobState::succeeded);
    EXPECT_EQ(state(ids[1]), JobState::running);
    EXPECT_EQ(state(ids[2]), JobState::pending);
    EXPECT_EQ(state(scheduled), JobState::scheduled);
}

TEST_P(JobStoreContract, RetryTakesItsUniqueKeyAgainOrIsRefused) {
    domain::JobSpec made = spec();
    made.unique_key = "k";
    const domain::JobId first = enqueue(made);
    value(store().cancel(first));
    const domain::JobId second = enqueue(made);
    ASSERT_NE(first, second);
    EXPECT_EQ(code_of(store().retry(first)), ErrorCode::conflict);
    EXPECT_EQ(state(first), JobState::cancelled);
    value(store().cancel(second));
    ASSERT_TRUE(store().retry(first));
    EXPECT_EQ(enqueue(made), first);
}

TEST_P(JobStoreContract, RetriedTransactionalJobIsStillSolo) {
    const domain::JobId id = enqueue(transactional_spec());
    value(store().cancel(id));
    ASSERT_TRUE(store().retry(id));
    EXPECT_TRUE(claim_one(open_session()).solo);
}

TEST_P(JobStoreContract, OldRunOfARetriedJobChangesNothing) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed old = claim_one(session);
    complete(session, old.run, answer(AnswerKind::failed));
    ASSERT_TRUE(store().retry(id));
    EXPECT_EQ(succeed(session, old.run), Verdict::repeat);
    EXPECT_EQ(state(id), JobState::pending);
    const store::Claimed current = claim_one(session);
    EXPECT_EQ(succeed(session, old.run), Verdict::repeat);
    EXPECT_EQ(state(id), JobState::running);
    EXPECT_EQ(succeed(session, current.run), Verdict::ok);
}

TEST_P(JobStoreContract, RemoveForgetsAFinishedJobAndItsRuns) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session, 2);
    succeed(session, claimed[0].run);
    complete(session, claimed[1].run, answer(AnswerKind::failed));
    value(store().cancel(ids[2]));
    for (const domain::JobId id : ids) {
        ASSERT_TRUE(store().remove(id));
        EXPECT_FALSE(value(store().find(id)));
        EXPECT_TRUE(runs(id).empty());
        EXPECT_EQ(code_of(store().remove(id)), ErrorCode::not_found);
        EXPECT_EQ(code_of(store().retry(id)), ErrorCode::not_found);
        EXPECT_EQ(value(store().cancel(id)), CancelAnswer::not_found);
    }
    EXPECT_TRUE(value(store().list({})).jobs.empty());
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, RemoveOfWhatHasNotFinishedIsRefused) {
    domain::JobSpec later = spec();
    later.delay = 1h;
    const domain::JobId running = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    for (const domain::JobId id : {running, enqueue(spec()), enqueue(later)}) {
        EXPECT_EQ(code_of(store().remove(id)), ErrorCode::conflict);
        EXPECT_TRUE(value(store().find(id)));
    }
    EXPECT_EQ(outstanding(), 3);
    EXPECT_EQ(succeed(session, claimed.run), Verdict::ok);
}

} // namespace
} // namespace deadman::contract
