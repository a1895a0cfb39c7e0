// Goal: what a worker decides, one decision at a time: claims and ends.
// Method: events by hand; the actions asked for are the answer.

#include "deadman/worker/internal/worker_core_harness.h"

namespace deadman::worker::testing {
namespace {

class CoreClaims : public WorkerCoreHarness {};

TEST_F(CoreClaims, AsksForSlotsAndPrefetchOnceRegistered) {
    start_session();
    const auto claim = take<Claim>();
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->request.max, 6);
    EXPECT_EQ(claim->request.claim_no, 1);
    EXPECT_FALSE(claim->request.suspect);
}

TEST_F(CoreClaims, RegistersAgainAfterFailuresWithPauses) {
    keep(core.start(now));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(take<Register>());
        keep(core.registered(now, now, base::fail(ErrorCode::unavailable, "away")));
        EXPECT_FALSE(asked<Register>());
        EXPECT_LE(core.next_wake() - now, 5s);
        now = core.next_wake();
        pass(0s);
    }
    EXPECT_TRUE(asked<Register>());
}

TEST_F(CoreClaims, StartsUpToItsSlotsAndKeepsTheRest) {
    start_session();
    give(jobs(1, 6, 10));
    EXPECT_EQ(take_all<StartRun>().size(), 2U);
    EXPECT_EQ(core.buffered(), 4U);
    EXPECT_FALSE(asked<Claim>());
}

TEST_F(CoreClaims, WaitsUntilThereIsRoomForAGoodPart) {
    start_session();
    give(jobs(1, 6, 10));
    finish(key(1, 10));
    EXPECT_FALSE(asked<Claim>());
    finish(key(2, 10));
    const auto claim = take<Claim>();
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->request.max, 2);
}

TEST_F(CoreClaims, OneAtATime) {
    start_session();
    ASSERT_TRUE(asked<Claim>());
    take_all<Claim>();
    live(1s);
    EXPECT_FALSE(asked<Claim>());
}

TEST_F(CoreClaims, UnavailableRepeatsTheNumber) {
    start_session();
    give_error(ErrorCode::unavailable);
    EXPECT_FALSE(asked<Claim>());
    live(200ms);
    EXPECT_EQ(take<Claim>()->request.claim_no, 1);
}

TEST_F(CoreClaims, OfUnknownOutcomeAreReadBack) {
    start_session();
    give_error(ErrorCode::outcome_unknown);
    live(200ms);
    EXPECT_FALSE(asked<Claim>());
    const auto read = take<ReadBackClaim>();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->claim_no, 1);
    keep(core.claim_read_back(now, 1, jobs(1, 2, 10)));
    EXPECT_EQ(take_all<StartRun>().size(), 2U);
}

TEST_F(CoreClaims, ReadBackEmptyRepeatsTheSameNumberAndACollisionIsReadAgain) {
    start_session();
    give_error(ErrorCode::outcome_unknown);
    live(200ms);
    ASSERT_TRUE(take<ReadBackClaim>());
    keep(core.claim_read_back(now, 1, std::vector<store::Claimed>{}));
    const auto repeat = take<Claim>();
    ASSERT_TRUE(repeat);
    EXPECT_EQ(repeat->request.claim_no, 1);
    keep(core.claim_answered(now, 1, base::fail(ErrorCode::conflict, "used")));
    ASSERT_TRUE(take<ReadBackClaim>());
    keep(core.claim_read_back(now, 1, jobs(1, 1, 10)));
    EXPECT_EQ(take_all<StartRun>().size(), 1U);
    EXPECT_EQ(take<Claim>()->request.claim_no, 2);
}

TEST_F(CoreClaims, AnAnswerForAnotherNumberIsIgnored) {
    start_session();
    keep(core.claim_answered(now, 99, jobs(1, 1, 10)));
    EXPECT_FALSE(asked<StartRun>());
    EXPECT_EQ(core.held(), 0U);
}

TEST_F(CoreClaims, FoundNothingWaitsForWork) {
    start_session();
    give({}); // normal
    EXPECT_TRUE(take<Claim>()->request.suspect);
    keep(core.claim_answered(now, 2, std::vector<store::Claimed>{}));
    const auto idle = take<Idle>();
    ASSERT_TRUE(idle);
    EXPECT_GE(idle->patience, 500ms);
    EXPECT_LE(idle->patience, 1s);
    EXPECT_FALSE(asked<Claim>());
    keep(core.woken(now));
    EXPECT_TRUE(asked<Claim>());
}

TEST_F(CoreClaims, AStormOfWakeUpsDoesNotBecomeAStormOfClaims) {
    start_session();
    int claims = 0;
    const base::SteadyTime until = now + 1min;
    while (now < until) {
        for (const Claim& claim : take_all<Claim>()) {
            ++claims;
            keep(core.claim_answered(now, claim.request.claim_no, std::vector<store::Claimed>{}));
        }
        if (take<Idle>())
            keep(core.woken(now));
        if (asked<Renew>())
            acknowledge();
        pass(1ms);
    }
    EXPECT_GT(claims, 60);
    EXPECT_LT(claims, 2 * (20 + 120 + 2));
}

TEST_F(CoreClaims, AnUnknownKindFailsAsAnAttemptAndStrandsNobody) {
    start_session();
    give({claimed(1, 10), claimed(2, 10, "strange"), claimed(3, 10)});
    EXPECT_EQ(take_all<StartRun>().size(), 2U);
    const auto ends = settle_batch();
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].run, key(2, 10));
    EXPECT_EQ(ends[0].answer.kind, AnswerKind::error);
    EXPECT_EQ(ends[0].answer.reason, "unknown_kind");
    EXPECT_GE(ends[0].answer.delay, 1s);
}

class CoreEnds : public WorkerCoreHarness {
  protected:
    void SetUp() override {
        start_session();
        give(jobs(1, 6, 10));
        take_all<StartRun>();
    }
};

TEST_F(CoreEnds, ALoneEndIsNotHeldBack) {
    finish(key(1, 10));
    EXPECT_TRUE(asked<Complete>());
}

TEST_F(CoreEnds, OneBatchIsUnderWayAndTheRestTravelsTogether) {
    finish(key(1, 10));
    const auto first = take<Complete>();
    finish(key(2, 10));
    finish(key(3, 10));
    EXPECT_FALSE(asked<Complete>());
    keep(core.completed(now, first->batch_no, std::vector{Verdict::ok}));
    EXPECT_EQ(take<Complete>()->ends.size(), 2U);
}

TEST_F(CoreEnds, OfUnknownOutcomeAreRepeatedAndRepeatIsAsGoodAsOk) {
    finish(key(1, 10));
    const auto first = take<Complete>();
    keep(core.completed(now, first->batch_no, base::fail(ErrorCode::outcome_unknown, "lost")));
    live(100ms);
    EXPECT_EQ(settle_batch(Verdict::repeat)[0].run, key(1, 10));
    const auto ended = reports(ReportKind::run_ended);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0].verdict, Verdict::repeat);
}

TEST_F(CoreEnds, BusyIsAskedAgainLater) {
    finish(key(1, 10));
    settle_batch(Verdict::busy);
    EXPECT_FALSE(asked<Complete>());
    live(50ms);
    EXPECT_EQ(settle_batch().size(), 1U);
}

TEST_F(CoreEnds, FencedIsReportedAsALostLease) {
    finish(key(1, 10));
    settle_batch(Verdict::fenced);
    const auto lost = reports(ReportKind::lease_lost);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].run, key(1, 10));
    EXPECT_FALSE(lost[0].detail.empty());
}

TEST_F(CoreEnds, OneThatTheStoreCannotTakeDoesNotHoldUpTheOthers) {
    finish(key(1, 10));
    const auto first = take<Complete>();
    for (int job = 2; job <= 6; ++job)
        finish(key(job, 10));
    keep(core.completed(now, first->batch_no, std::vector{Verdict::ok}));
    std::vector<std::int64_t> done;
    for (int round = 0; round < 200 && done.size() < 5; ++round) {
        live(10ms);
        take_all<Claim>();
        const auto batch = take<Complete>();
        if (!batch)
            continue;
        const bool bad = std::any_of(batch->ends.begin(), batch->ends.end(), [](const auto& end) {
            return end.run.job.value == 4 && end.answer.kind == AnswerKind::succeeded;
        });
        if (bad) {
            keep(core.completed(now, batch->batch_no, base::fail(ErrorCode::internal, "bad")));
            continue;
        }
        for (const auto& end : batch->ends)
            done.push_back(end.run.job.value);
        keep(core.completed(now, batch->batch_no,
                            std::vector<Verdict>(batch->ends.size(), Verdict::ok)));
    }
    std::sort(done.begin(), done.end());
    EXPECT_EQ(done, (std::vector<std::int64_t>{2, 3, 4, 5, 6}));
}

TEST_F(CoreEnds, AnErrorGetsItsBackoffAndADelayOfItsOwnIsKept) {
    Answer error;
    error.kind = AnswerKind::error;
    finish(key(1, 10), error);
    const auto backoff = settle_batch()[0].answer.delay;
    EXPECT_GE(backoff, 1s);
    EXPECT_LE(backoff, 1250ms);
    error.delay = 7s;
    finish(key(2, 10), error);
    EXPECT_EQ(settle_batch()[0].answer.delay, 7s);
}

TEST_F(CoreEnds, ACommittedTransactionNeedsNoEnd) {
    finish(key(1, 10), {}, TransactionOutcome::committed);
    EXPECT_FALSE(asked<Complete>());
    const auto ended = reports(ReportKind::run_ended);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_TRUE(ended[0].in_transaction);
}

TEST_F(CoreEnds, ATransactionOfUnknownOutcomeIsNeverTakenForASuccess) {
    finish(key(1, 10), {}, TransactionOutcome::unknown);
    const auto ends = settle_batch(Verdict::ok);
    EXPECT_EQ(ends[0].answer.kind, AnswerKind::release);
    EXPECT_FALSE(reports(ReportKind::run_ended)[0].in_transaction);
    finish(key(2, 10), {}, TransactionOutcome::unknown);
    settle_batch(Verdict::repeat);
    EXPECT_TRUE(reports(ReportKind::run_ended)[0].in_transaction);
}

TEST_F(CoreEnds, PileUpToABoundAndThenNothingIsClaimed) {
    finish(key(1, 10));
    const auto stuck = take<Complete>();
    std::int64_t next = 100;
    std::vector<std::int64_t> running{2, 3};
    for (int round = 0; round < 50; ++round) {
        for (const Claim& claim : take_all<Claim>()) {
            std::vector<store::Claimed> more;
            for (int i = 0; i < claim.request.max; ++i)
                more.push_back(claimed(next++, 10));
            keep(core.claim_answered(now, claim.request.claim_no, more));
        }
        for (const StartRun& start : take_all<StartRun>())
            finish(start.claimed.run);
        for (const std::int64_t job : std::exchange(running, {}))
            finish(key(job, 10));
    }
    EXPECT_TRUE(stuck);
    EXPECT_LE(core.held(), 12U + 6U);
    EXPECT_FALSE(asked<Claim>());
}

} // namespace
} // namespace deadman::worker::testing
