// Goal: suspects run alone, and leases that nobody knows of are taken up (PROTOCOL C1, C5).
// Method: events by hand; the actions asked for are the answer.

#include "deadman/worker/internal/worker_core_harness.h"

namespace deadman::worker::testing {
namespace {

class CoreSuspects : public WorkerCoreHarness {};

TEST_F(CoreSuspects, AreAskedForByAnIdleWorkerAndRunAlone) {
    start_session();
    give({});
    const auto ask = take<Claim>();
    ASSERT_TRUE(ask);
    EXPECT_TRUE(ask->request.suspect);
    EXPECT_EQ(ask->request.max, 1);
    keep(core.claim_answered(now, ask->request.claim_no, jobs(1, 1, 10)));
    EXPECT_EQ(take_all<StartRun>().size(), 1U);
    live(1s);
    EXPECT_FALSE(asked<Claim>()) << "nothing else until it has ended";
    finish(key(1, 10));
    EXPECT_FALSE(asked<Claim>()) << "its end is not recorded yet";
    settle_batch();
    EXPECT_TRUE(asked<Claim>());
}

TEST_F(CoreSuspects, ABusyWorkerDrainsForThemNowAndThen) {
    start_session();
    std::int64_t next = 1;
    bool asked_for_suspect = false;
    const base::SteadyTime until = now + 2min;
    while (now < until && !asked_for_suspect) {
        for (const Claim& claim : take_all<Claim>()) {
            asked_for_suspect = claim.request.suspect;
            if (asked_for_suspect) {
                EXPECT_EQ(core.held(), 0U);
                break;
            }
            keep(core.claim_answered(now, claim.request.claim_no,
                                     jobs(next, next + claim.request.max - 1, 10)));
            next += claim.request.max;
        }
        for (const StartRun& start : take_all<StartRun>())
            finish(start.claimed.run);
        if (asked<Complete>())
            settle_batch();
        for (const Renew& renew : take_all<Renew>())
            keep(core.renewed(now, renew.renew_no, now, store::Renewal{}));
        pass(100ms);
    }
    EXPECT_TRUE(asked_for_suspect);
}

class CorePrefetch : public WorkerCoreHarness {
  protected:
    static WorkerOptions tuning() {
        WorkerOptions with = options();
        with.prefetch = -1;
        return with;
    }

    CorePrefetch() : WorkerCoreHarness(tuning()) {}

    /// Answers the claim that is asked for with as many jobs, from `next` on; how many it was.
    std::size_t give_all_asked_for() {
        const auto ask = take<Claim>();
        if (!ask)
            return 0;
        keep(core.claim_answered(now, ask->request.claim_no,
                                 jobs(next, next + ask->request.max - 1, 10)));
        next += ask->request.max;
        return static_cast<std::size_t>(ask->request.max);
    }

    void finish_all_started(base::Duration each) {
        for (auto started = take_all<StartRun>(); !started.empty();
             started = take_all<StartRun>()) {
            now += each;
            for (const StartRun& start : started)
                finish(start.claimed.run);
            if (asked<Complete>())
                settle_batch();
        }
    }

    std::int64_t next = 1;
};

TEST_F(CorePrefetch, ShortRunsAreClaimedByTheHundred) {
    start_session();
    EXPECT_EQ(give_all_asked_for(), 6U);
    finish_all_started(10us);
    EXPECT_EQ(give_all_asked_for(), 1'000U);
}

TEST_F(CorePrefetch, WhenRunsBecomeLongTheSurplusIsHandedBack) {
    start_session();
    give_all_asked_for();
    finish_all_started(10us);
    EXPECT_EQ(give_all_asked_for(), 1'000U);
    EXPECT_EQ(take_all<StartRun>().size(), 2U);
    EXPECT_GT(core.buffered(), 900U);
    live(1s);
    EXPECT_EQ(core.buffered(), 4U);
    std::size_t handed_back = 0;
    while (asked<Complete>())
        for (const store::RunEnd& end : settle_batch())
            handed_back += end.answer.reason == "surplus" && end.answer.kind == AnswerKind::release;
    EXPECT_GT(handed_back, 900U);
}

TEST_F(CorePrefetch, AWakeUpThatBringsWorkIsNeverThrottled) {
    start_session();
    base::Duration waited{};
    for (int job = 0; job < 200; ++job) {
        live(5ms);
        const base::SteadyTime from = now;
        for (int step = 0; step < 1'000 && core.running() == 0; ++step) {
            if (take<Idle>())
                keep(core.woken(now));
            if (const auto ask = take<Claim>(); ask && ask->request.suspect)
                keep(
                    core.claim_answered(now, ask->request.claim_no, std::vector<store::Claimed>{}));
            else if (ask)
                keep(core.claim_answered(now, ask->request.claim_no, jobs(next, next, 10)));
            if (core.running() == 0)
                pass(1ms);
        }
        waited += now - from;
        ++next;
        finish_all_started(1ms);
        if (const auto ask = take<Claim>())
            keep(core.claim_answered(now, ask->request.claim_no, std::vector<store::Claimed>{}));
        for (const Renew& renew : take_all<Renew>())
            keep(core.renewed(now, renew.renew_no, now, store::Renewal{}));
    }
    EXPECT_LT(waited, 200ms) << "200 jobs, one after the other";
}

class CoreOrphans : public WorkerCoreHarness {};

TEST_F(CoreOrphans, ALeaseThatNobodyKnowsIsAdopted) {
    start_session();
    give({claimed(1, 10)});
    take_all<StartRun>();
    take_all<Claim>();
    keep(core.claim_answered(now, 2, std::vector<store::Claimed>{}));
    live(2s);
    acknowledge({lease(10, 1, {1}), lease(7, 1, {5})});
    const auto read = take<ReadBackClaim>();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->claim_no, 1);
    keep(core.claim_read_back(now, 1, std::vector{claimed(1, 10), claimed(5, 7)}));
    const auto started = take_all<StartRun>();
    ASSERT_EQ(started.size(), 1U) << "what is held already is no news";
    EXPECT_EQ(started[0].claimed.run, key(5, 7));
}

TEST_F(CoreOrphans, AClaimThatIsUnderWayIsNone) {
    start_session();
    live(2s);
    acknowledge({lease(10, 1, {1})});
    EXPECT_FALSE(asked<ReadBackClaim>());
}

TEST_F(CoreOrphans, ARunThatEndedMeanwhileIsNone) {
    start_session();
    give({claimed(1, 10)});
    take_all<StartRun>();
    take_all<Claim>();
    keep(core.claim_answered(now, 2, std::vector<store::Claimed>{}));
    live(2s);
    finish(key(1, 10)); // after the renewal was sent
    settle_batch();
    acknowledge({lease(10, 1, {1})});
    EXPECT_FALSE(asked<ReadBackClaim>());
}

TEST_F(CoreOrphans, OneThatEndedWhileItWasReadBackIsNotStartedAgain) {
    start_session();
    give({claimed(1, 10)});
    take_all<StartRun>();
    take_all<Claim>();
    keep(core.claim_answered(now, 2, std::vector<store::Claimed>{}));
    live(2s);
    acknowledge({lease(10, 1, {1}), lease(7, 1, {5})});
    ASSERT_TRUE(take<ReadBackClaim>());
    finish(key(1, 10));
    settle_batch();
    keep(core.claim_read_back(now, 1, std::vector{claimed(1, 10)}));
    EXPECT_FALSE(asked<StartRun>());
}

TEST_F(CoreOrphans, ASuspectAmongCompanyIsHandedBack) {
    start_session();
    give({claimed(1, 10)});
    take_all<StartRun>();
    take_all<Claim>();
    keep(core.claim_answered(now, 2, std::vector<store::Claimed>{}));
    live(2s);
    acknowledge({lease(10, 1, {1}), lease(7, 1, {5})});
    store::Claimed suspect = claimed(5, 7);
    suspect.blame.lapse_score = domain::suspect_from;
    keep(core.claim_read_back(now, 1, std::vector{suspect}));
    EXPECT_FALSE(asked<StartRun>());
    EXPECT_EQ(settle_batch()[0].answer.kind, AnswerKind::release);
}

TEST_F(CoreOrphans, ABufferedRunThatARenewalDoesNotNameIsNeverStarted) {
    start_session();
    give(jobs(1, 6, 10));
    take_all<StartRun>();
    live(2s);
    acknowledge({lease(10, 1, {1, 2, 4, 5, 6})});
    EXPECT_EQ(reports(ReportKind::lease_lost).size(), 1U);
    EXPECT_EQ(core.buffered(), 3U);
}

} // namespace
} // namespace deadman::worker::testing
