// Goal: when a worker stops trusting its lease, and how it stops: fencing, cancels, timeouts,
// drain. Method: events by hand; the actions asked for are the answer.

#include "deadman/worker/internal/worker_core_harness.h"

namespace deadman::worker::testing {
namespace {

class CoreLease : public WorkerCoreHarness {
  protected:
    void SetUp() override {
        start_session();
        give(jobs(1, 6, 10));
        take_all<StartRun>();
    }

    std::vector<StopWhy> stops() {
        std::vector<StopWhy> whys;
        for (const StopRun& stop : take_all<StopRun>())
            whys.push_back(stop.why);
        return whys;
    }

    std::vector<store::HeldLease> all_held() {
        return {lease(10, 1, {1, 2, 3, 4, 5, 6})};
    }
};

TEST_F(CoreLease, IsRenewedEveryHeartbeatNamingWhatHasStarted) {
    live(2s);
    const auto renew = take<Renew>();
    ASSERT_TRUE(renew);
    EXPECT_EQ(renew->request.started.size(), 2U);
    EXPECT_FALSE(renew->request.idle);
}

TEST_F(CoreLease, FailedRenewalsAreTriedAgainSoonerThanTheNextHeartbeat) {
    live(2s);
    int tries = 0;
    const base::SteadyTime until = now + 2s;
    while (now < until) {
        if (const auto renew = take<Renew>()) {
            ++tries;
            keep(core.renewed(now, renew->renew_no, now, base::fail(ErrorCode::unavailable, "")));
        }
        pass(10ms);
    }
    EXPECT_GE(tries, 3);
    EXPECT_LE(tries, 12);
}

TEST_F(CoreLease, WithoutARenewalHandlersAreStoppedAndNothingIsStarted) {
    live(4999ms);
    EXPECT_TRUE(stops().empty());
    live(1ms);
    EXPECT_EQ(stops(), (std::vector{StopWhy::lease_uncertain, StopWhy::lease_uncertain}));
    EXPECT_EQ(core.buffered(), 0U) << "handed back";
    EXPECT_FALSE(asked<StartRun>());
}

TEST_F(CoreLease, CountsFromWhenTheRenewalWasSentNotFromWhenItWasAcknowledged) {
    live(2s);
    const auto renew = take<Renew>();
    const base::SteadyTime sent_at = now;
    live(2900ms);
    keep(core.renewed(now, renew->renew_no, sent_at, store::Renewal{all_held()}));
    take_all<Renew>();
    live(sent_at + 4999ms - now);
    EXPECT_TRUE(stops().empty());
    live(1ms);
    EXPECT_EQ(stops().size(), 2U);
}

TEST_F(CoreLease, AHandlerThatRunsOnMakesTheWorkerLeaveTheProcess) {
    live(7499ms);
    EXPECT_FALSE(asked<LeaveProcess>());
    live(1ms);
    EXPECT_TRUE(asked<LeaveProcess>());
    EXPECT_TRUE(core.finished());
}

TEST_F(CoreLease, AProcessThatWasStoppedGivesItsHandlersAMoment) {
    pass(1min);
    EXPECT_EQ(stops().size(), 2U);
    EXPECT_FALSE(asked<LeaveProcess>());
    finish(key(1, 10));
    finish(key(2, 10));
    live(1s);
    EXPECT_FALSE(asked<LeaveProcess>());
}

TEST_F(CoreLease, OnceAllHandlersStoppedTheSessionEndsAndANewOneBegins) {
    live(5s);
    finish(key(1, 10));
    finish(key(2, 10));
    EXPECT_FALSE(asked<EndSession>()) << "what they answered may still be taken";
    std::vector<store::RunEnd> ends = settle_batch();
    for (auto more = take<Complete>(); more; more = take<Complete>()) {
        ends.insert(ends.end(), more->ends.begin(), more->ends.end());
        keep(core.completed(now, more->batch_no,
                            std::vector<Verdict>(more->ends.size(), Verdict::ok)));
    }
    EXPECT_EQ(ends.size(), 6U);
    for (const store::RunEnd& end : ends)
        EXPECT_EQ(end.answer.kind, AnswerKind::release)
            << "what a stopped handler says is not recorded";
    ASSERT_TRUE(take<EndSession>());
    keep(core.session_ended(now, {}));
    start_session(2);
    EXPECT_EQ(take<Claim>()->session.id, domain::SessionId{2});
}

TEST_F(CoreLease, AnEndedSessionIsLostWithAllItsRuns) {
    live(2s);
    const auto renew = take<Renew>();
    keep(core.renewed(now, renew->renew_no, now, base::fail(ErrorCode::fenced, "reaped")));
    EXPECT_EQ(stops().size(), 2U);
    EXPECT_EQ(reports(ReportKind::lease_lost).size(), 6U);
    EXPECT_FALSE(asked<Register>()) << "handlers still run";
    finish(key(1, 10));
    finish(key(2, 10));
    EXPECT_FALSE(asked<Complete>());
    EXPECT_FALSE(asked<EndSession>());
    EXPECT_TRUE(asked<Register>());
}

TEST_F(CoreLease, AClaimOfTheOldSessionThatComesLateIsIgnored) {
    finish(key(1, 10));
    finish(key(2, 10));
    settle_batch();
    const auto claim = take<Claim>();
    ASSERT_TRUE(claim);
    live(2s);
    const auto renew = take<Renew>();
    keep(core.renewed(now, renew->renew_no, now, base::fail(ErrorCode::fenced, "reaped")));
    take_all<StartRun>();
    for (const std::int64_t job : {3, 4})
        finish(key(job, 10));
    start_session(2);
    keep(core.claim_answered(now, claim->request.claim_no, jobs(20, 22, 30)));
    EXPECT_FALSE(asked<StartRun>());
}

TEST_F(CoreLease, ACancelledRunIsStoppedAndItsAnswerIsCancelled) {
    live(2s);
    acknowledge({lease(10, 1, {1, 2, 3, 4, 5, 6}, {1, 4})});
    EXPECT_EQ(stops(), std::vector{StopWhy::cancelled});
    auto ends = settle_batch(Verdict::ok);
    ASSERT_EQ(ends.size(), 1U) << "the one that had not started ends at once";
    EXPECT_EQ(ends[0].run, key(4, 10));
    EXPECT_EQ(ends[0].answer.kind, AnswerKind::cancelled);
    finish(key(1, 10));
    ends = settle_batch();
    EXPECT_EQ(ends[0].answer.kind, AnswerKind::cancelled);
}

TEST_F(CoreLease, ARunThatDoesNotStopIsAbandonedAndKeepsItsSlot) {
    live(2s);
    acknowledge({lease(10, 1, {1, 2, 3, 4, 5, 6}, {1})});
    for (int beat = 0; beat < 3; ++beat) {
        live(2s);
        acknowledge(all_held());
    }
    EXPECT_TRUE(asked<AbandonRun>());
    EXPECT_EQ(settle_batch()[0].answer.kind, AnswerKind::cancelled);
    EXPECT_EQ(core.running(), 2U) << "the slot is lost";
    finish(key(1, 10));
    EXPECT_EQ(reports(ReportKind::slot_regained).size(), 1U);
    EXPECT_TRUE(asked<StartRun>());
    EXPECT_FALSE(asked<Complete>()) << "its answer counts for nothing";
}

TEST_F(CoreLease, ProgressTravelsOnceWithTheNextRenewal) {
    keep(core.progress(now, key(1, 10), 40, "a"));
    keep(core.progress(now, key(1, 10), 50, "b"));
    live(2s);
    auto renew = take<Renew>();
    ASSERT_EQ(renew->request.progress.size(), 1U);
    EXPECT_EQ(renew->request.progress[0].percent, 50);
    keep(core.renewed(now, renew->renew_no, now, base::fail(ErrorCode::unavailable, "")));
    live(1s);
    renew = take<Renew>();
    ASSERT_TRUE(renew);
    EXPECT_EQ(renew->request.progress.size(), 1U) << "it may not have arrived";
    keep(core.renewed(now, renew->renew_no, now, store::Renewal{all_held()}));
    live(2s);
    EXPECT_TRUE(take<Renew>()->request.progress.empty());
}

TEST_F(CoreLease, DrainHandsBackTheUnstartedAtOnceAndKeepsRenewing) {
    keep(core.drain(now));
    const auto ends = settle_batch();
    EXPECT_EQ(ends.size(), 4U);
    for (const store::RunEnd& end : ends) {
        EXPECT_EQ(end.answer.kind, AnswerKind::release);
        EXPECT_EQ(end.answer.reason, "drain");
    }
    for (int beat = 0; beat < 5; ++beat) {
        live(2s);
        acknowledge({lease(10, 1, {1, 2})});
    }
    EXPECT_FALSE(asked<Claim>());
    EXPECT_TRUE(stops().empty()) << "runs end by themselves";
    finish(key(1, 10));
    finish(key(2, 10));
    EXPECT_FALSE(asked<EndSession>());
    EXPECT_EQ(settle_batch()[0].answer.kind, AnswerKind::succeeded);
    if (asked<Complete>())
        settle_batch();
    ASSERT_TRUE(take<EndSession>());
    EXPECT_FALSE(asked<Finished>());
    keep(core.session_ended(now, {}));
    ASSERT_TRUE(asked<Finished>());
    EXPECT_EQ(take<Finished>()->handlers_left, 0);
}

TEST_F(CoreLease, AClaimAnsweredDuringTheDrainIsHandedBack) {
    finish(key(1, 10));
    finish(key(2, 10));
    settle_batch();
    take_all<StartRun>();
    const auto claim = take<Claim>();
    ASSERT_TRUE(claim);
    keep(core.drain(now));
    keep(core.claim_answered(now, claim->request.claim_no, jobs(20, 21, 30)));
    EXPECT_FALSE(asked<StartRun>());
    std::size_t released = 0;
    while (asked<Complete>())
        for (const store::RunEnd& end : settle_batch())
            released += end.answer.kind == AnswerKind::release ? 1U : 0U;
    EXPECT_EQ(released, 4U) << "two unstarted of the first claim, two of the late one";
}

TEST_F(CoreLease, AfterTheDrainsGraceRunsAreStoppedAndHandedBack) {
    keep(core.drain(now));
    settle_batch();
    for (int beat = 0; beat < 15; ++beat) {
        live(2s);
        for (const Renew& renew : take_all<Renew>())
            keep(core.renewed(now, renew.renew_no, now, store::Renewal{{lease(10, 1, {1, 2})}}));
    }
    EXPECT_EQ(stops(), (std::vector{StopWhy::drain, StopWhy::drain}));
    finish(key(1, 10));
    EXPECT_EQ(settle_batch()[0].answer.kind, AnswerKind::release);
}

TEST_F(CoreLease, AForcedDrainIsOverWithinItsBoundWhateverHappens) {
    keep(core.drain(now));
    keep(core.force_drain(now)); // the handlers do not return, the store does not answer
    EXPECT_EQ(stops().size(), 2U);
    live(1s);
    EXPECT_TRUE(asked<EndSession>());
    live(999ms);
    EXPECT_FALSE(asked<Finished>());
    live(1ms);
    ASSERT_TRUE(asked<Finished>());
    EXPECT_EQ(take<Finished>()->handlers_left, 2);
}

TEST_F(CoreLease, AForcedDrainIsOverAtOnceWhenAllStop) {
    keep(core.force_drain(now));
    finish(key(1, 10));
    finish(key(2, 10));
    while (asked<Complete>())
        settle_batch();
    ASSERT_TRUE(take<EndSession>());
    keep(core.session_ended(now, {}));
    EXPECT_TRUE(asked<Finished>());
}

TEST_F(CoreLease, ADrainDuringAnOutageEndsWithTheLease) {
    keep(core.drain(now));
    finish(key(1, 10));
    finish(key(2, 10));
    const base::SteadyTime until = now + 10s;
    while (now < until && !core.finished()) {
        for (const Complete& batch : take_all<Complete>())
            keep(core.completed(now, batch.batch_no, base::fail(ErrorCode::unavailable, "")));
        for (const Renew& renew : take_all<Renew>())
            keep(core.renewed(now, renew.renew_no, now, base::fail(ErrorCode::unavailable, "")));
        pass(10ms);
    }
    EXPECT_TRUE(core.finished());
}

struct Timeout : WorkerCoreHarness {};

TEST_F(Timeout, StopsTheRunAndSpendsAnAttemptWithBackoff) {
    start_session();
    store::Claimed slow = claimed(1, 10);
    slow.timeout = 3s;
    slow.attempts_spent = 2;
    give({slow});
    EXPECT_EQ(take<StartRun>()->deadline, now + 3s);
    live(2s);
    acknowledge({lease(10, 1, {1})});
    live(999ms);
    EXPECT_FALSE(asked<StopRun>());
    live(1ms);
    EXPECT_EQ(take<StopRun>()->why, StopWhy::timeout);
    finish(key(1, 10)); // "succeeded" comes too late
    const auto ends = settle_batch();
    EXPECT_EQ(ends[0].answer.kind, AnswerKind::error);
    EXPECT_EQ(ends[0].answer.reason, "timeout");
    EXPECT_GE(ends[0].answer.delay, 4s) << "the third attempt's backoff";
}

struct Unregistered : WorkerCoreHarness {};

TEST_F(Unregistered, ADrainBeforeTheFirstSessionFinishes) {
    keep(core.start(now));
    ASSERT_TRUE(take<Register>());
    keep(core.drain(now));
    EXPECT_FALSE(asked<Finished>()) << "the answer may bring a session to be ended";
    keep(core.registered(now, now, base::fail(ErrorCode::unavailable, "away")));
    EXPECT_TRUE(asked<Finished>());
}

} // namespace
} // namespace deadman::worker::testing
