// Upkeep: the reaper, blame and quarantine, due work, grace after an outage, retention, leadership.

#include <algorithm>

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using domain::Blame;
using domain::JobState;
using domain::Verdict;

bool holds(const std::vector<store::Claimed>& claimed, domain::JobId id) {
    return std::ranges::any_of(claimed, [&](const auto& one) { return one.run.job == id; });
}

TEST_P(JobStoreContract, LapsedRunsComeBackAndSpendNoAttempt) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    const auto report = pass(terms.lease + 2 * terms.sweep);
    EXPECT_EQ(report.sessions_lapsed, 1);
    EXPECT_EQ(report.runs_returned, 3);
    EXPECT_EQ(report.quarantined, 0);
    for (const domain::JobId id : ids) {
        EXPECT_EQ(state(id), JobState::pending);
        EXPECT_EQ(record(id).attempts_spent, 0);
        ASSERT_EQ(runs(id).size(), 1u);
        EXPECT_EQ(runs(id)[0].outcome, domain::Outcome::lapse);
        EXPECT_EQ(runs(id)[0].fence, claimed[0].run.fence);
    }
    auto again = ids_of(claim(open_session()));
    std::ranges::sort(again);
    EXPECT_EQ(again, ids);
}

TEST_P(JobStoreContract, OnlyWhatHasNotEndedComesBack) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    succeed(session, claimed[0].run);
    complete(session, claimed[1].run, answer(domain::AnswerKind::failed));
    let_lapse();
    EXPECT_EQ(state(ids[0]), JobState::succeeded);
    EXPECT_EQ(state(ids[1]), JobState::failed);
    EXPECT_EQ(state(ids[2]), JobState::pending);
    EXPECT_EQ(succeed(session, claimed[0].run), Verdict::repeat);
    EXPECT_EQ(succeed(session, claimed[2].run), Verdict::fenced);
}

TEST_P(JobStoreContract, EndBeforeTheReaperWins) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    sweep();
    fixture().advance(terms.sweep);
    sweep();
    fixture().advance(terms.lease); // past due, and nobody has looked yet
    EXPECT_EQ(succeed(session, claimed.run), Verdict::ok);
    let_lapse();
    EXPECT_EQ(state(id), JobState::succeeded);
    EXPECT_EQ(runs(id).size(), 1u);
}

TEST_P(JobStoreContract, EndAfterTheReaperIsFencedWhateverItSays) {
    using domain::AnswerKind;
    const auto ids = enqueue_many(6, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    let_lapse();
    std::size_t index = 0;
    for (const AnswerKind kind : {AnswerKind::succeeded, AnswerKind::error, AnswerKind::failed,
                                  AnswerKind::snooze, AnswerKind::release, AnswerKind::cancelled})
        EXPECT_EQ(complete(session, claimed[index++].run, answer(kind, 1h)), Verdict::fenced);
    for (const domain::JobId id : ids) {
        EXPECT_EQ(state(id), JobState::pending);
        EXPECT_EQ(record(id).attempts_spent, 0);
        EXPECT_EQ(runs(id).size(), 1u);
    }
}

TEST_P(JobStoreContract, LapseBlamesStartedRunsMore) {
    const auto ids = enqueue_many(2, spec());
    const store::Session session = open_session();
    ASSERT_EQ(claim(session).size(), 2u);
    renew(session, {ids[0]});
    let_lapse();
    EXPECT_EQ(record(ids[0]).blame, (Blame{domain::lapse_score_started, 0}));
    EXPECT_EQ(record(ids[1]).blame, (Blame{domain::lapse_score_other, 0}));
}

TEST_P(JobStoreContract, DeathAloneIsACrash) {
    const domain::JobId id = enqueue(spec());
    ASSERT_EQ(claim(open_session()).size(), 1u);
    let_lapse();
    EXPECT_EQ(record(id).blame, (Blame{domain::lapse_score_other, 1}));
}

TEST_P(JobStoreContract, OneOfManyWhoseOthersHaveEndedDiesAlone) {
    const auto ids = enqueue_many(2, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    succeed(session, claimed[0].run);
    let_lapse();
    EXPECT_EQ(record(ids[1]).blame.crashes, 1);
}

TEST_P(JobStoreContract, PillIsQuarantinedAndItsNeighboursAreNot) {
    const auto harmless = enqueue_many(5, spec());
    const domain::JobId pill = enqueue(spec());
    int deaths = 0;
    while (state(pill) != JobState::failed && deaths < 10) {
        const store::Session victim = open_session();
        const auto held = claim(victim);
        if (!holds(held, pill)) {
            for (const store::Claimed& one : held)
                EXPECT_EQ(succeed(victim, one.run), Verdict::ok);
            ASSERT_EQ(ids_of(claim_suspect(victim)), std::vector{pill});
        }
        renew(victim, {pill});
        let_lapse();
        ++deaths;
        while (state(pill) == JobState::scheduled) // it waits longer with each crash
            pass(terms.sweep);
    }
    EXPECT_LE(deaths, 5);
    EXPECT_EQ(state(pill), JobState::failed);
    EXPECT_EQ(record(pill).reason, domain::reason_quarantined);
    EXPECT_EQ(record(pill).attempts_spent, 0);
    EXPECT_TRUE(record(pill).finished_at);
    EXPECT_EQ(runs(pill).size(), static_cast<std::size_t>(deaths));
    for (const domain::JobId id : harmless)
        EXPECT_EQ(state(id), JobState::succeeded);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, SuspectThatDiesAloneWaitsLongerEachTime) {
    upkeep.crash = {.max_crashes = 10, .first_delay = 10s};
    const domain::JobId pill = make_suspect("default");
    for (const base::Duration delay : {10s, 20s, 40s}) {
        const store::Session victim = open_session();
        ASSERT_EQ(ids_of(claim_suspect(victim)), std::vector{pill});
        renew(victim, {pill});
        let_lapse();
        ASSERT_EQ(state(pill), JobState::scheduled);
        const base::TimePoint returned = runs(pill).back().finished_at.value();
        EXPECT_GE(record(pill).due, returned + delay - 1s);
        EXPECT_LE(record(pill).due, returned + delay + 1s);
        EXPECT_TRUE(claim_suspect(open_session()).empty());
        pass(delay);
        EXPECT_EQ(state(pill), JobState::pending);
    }
    EXPECT_EQ(record(pill).blame.crashes, 3);
}

TEST_P(JobStoreContract, QuarantineCountsInTheReport) {
    upkeep.crash.max_crashes = 1;
    enqueue(spec());
    ASSERT_EQ(claim(open_session()).size(), 1u);
    const auto report = pass(terms.lease + 2 * terms.sweep);
    EXPECT_EQ(report.quarantined, 1);
    EXPECT_EQ(report.runs_returned, 0);
}

TEST_P(JobStoreContract, QuarantinedJobCanBeRetriedByAnOperator) {
    upkeep.crash.max_crashes = 1;
    const domain::JobId id = enqueue(spec());
    ASSERT_EQ(claim(open_session()).size(), 1u);
    let_lapse();
    ASSERT_EQ(state(id), JobState::failed);
    ASSERT_TRUE(store().retry(id));
    EXPECT_EQ(record(id).blame, Blame{});
    EXPECT_EQ(ids_of(claim(open_session())), std::vector{id});
}

TEST_P(JobStoreContract, AfterAnOutageEverybodyGetsALeaseOfGrace) {
    const auto ids = enqueue_many(2, spec());
    const store::Session alive = open_session();
    const store::Session dead = open_session();
    const store::Claimed held = claim_one(alive);
    claim_one(dead);
    sweep();
    fixture().advance(10 * terms.lease); // nobody swept, nobody could renew
    const auto report = sweep();
    EXPECT_TRUE(report.grace);
    EXPECT_EQ(report.sessions_lapsed, 0);
    EXPECT_EQ(state(ids[0]), JobState::running);
    EXPECT_EQ(state(ids[1]), JobState::running);
    EXPECT_EQ(pass(terms.lease / 2, {alive}).sessions_lapsed, 0);
    EXPECT_EQ(pass(terms.lease, {alive}).sessions_lapsed, 1);
    EXPECT_EQ(state(ids[1]), JobState::pending);
    EXPECT_EQ(succeed(alive, held.run), Verdict::ok);
}

TEST_P(JobStoreContract, DueWorkIsPromotedDuringGrace) {
    domain::JobSpec made = spec();
    made.delay = 5s;
    const domain::JobId id = enqueue(made);
    sweep();
    fixture().advance(10min);
    EXPECT_TRUE(sweep().grace);
    EXPECT_EQ(state(id), JobState::pending);
}

TEST_P(JobStoreContract, ManyDueJobsArePromotedPastTheBatch) {
    upkeep.batch = 10;
    domain::JobSpec made = spec();
    made.delay = 2s;
    enqueue_many(35, made);
    pass(5s);
    EXPECT_EQ(claim(open_session()).size(), 35u);
}

TEST_P(JobStoreContract, ManyLapsedRunsComeBackPastTheBatch) {
    upkeep.batch = 10;
    enqueue_many(35, spec());
    ASSERT_EQ(claim(open_session()).size(), 35u);
    pass(terms.lease + 5 * terms.sweep);
    EXPECT_EQ(claim(open_session()).size(), 35u);
}

TEST_P(JobStoreContract, FinishedJobsAreForgottenAfterTheirRetention) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session, 2);
    succeed(session, claimed[0].run);
    complete(session, claimed[1].run, answer(domain::AnswerKind::failed));
    sweep();
    fixture().advance(24h * 13);
    sweep();
    EXPECT_EQ(state(ids[0]), JobState::succeeded);
    fixture().advance(24h * 3);
    sweep();
    pass(2 * terms.sweep);
    EXPECT_FALSE(value(store().find(ids[0])));
    EXPECT_FALSE(value(store().find(ids[1])));
    EXPECT_TRUE(runs(ids[0]).empty());
    EXPECT_EQ(state(ids[2]), JobState::pending);
    EXPECT_EQ(outstanding(), 1);
    EXPECT_EQ(ids_of(claim(open_session())), std::vector{ids[2]});
}

TEST_P(JobStoreContract, OneLeadsAndAnotherTakesOverWhenItGivesUp) {
    sweep();
    EXPECT_EQ(value(store().try_lead()), nullptr);
    if (store::JobStore* other = fixture().second_store()) {
        EXPECT_EQ(value(other->try_lead()), nullptr);
    }
    give_up_leadership();
    if (store::JobStore* other = fixture().second_store()) {
        const auto leadership = value(other->try_lead());
        ASSERT_NE(leadership, nullptr);
        EXPECT_TRUE(value(leadership->sweep(upkeep)).still_leader);
        EXPECT_EQ(value(store().try_lead()), nullptr);
    }
    EXPECT_TRUE(sweep().still_leader);
}

TEST_P(JobStoreContract, StalledLeaderIsReplacedAndLearnsIt) {
    DEADMAN_NEEDS(replaces_stalled_leader);
    DEADMAN_NEEDS(second_handle);
    EXPECT_TRUE(sweep().still_leader);
    fixture().advance(1min);
    const auto other = value(fixture().second_store()->try_lead());
    ASSERT_NE(other, nullptr);
    EXPECT_TRUE(value(other->sweep(upkeep)).still_leader);
    EXPECT_FALSE(sweep().still_leader);
    EXPECT_TRUE(value(other->sweep(upkeep)).still_leader);
}

TEST_P(JobStoreContract, MigratingAgainChangesNothing) {
    const domain::JobId id = enqueue(spec());
    const store::MigrationReport again = value(store().migrate());
    EXPECT_EQ(again.from_version, again.to_version);
    EXPECT_EQ(state(id), JobState::pending);
}

TEST_P(JobStoreContract, ExaminationOfAHealthyStoreFindsNoProblem) {
    sweep();
    for (const store::Finding& finding : value(store().examine())) {
        EXPECT_FALSE(finding.name.empty());
        EXPECT_NE(finding.severity, store::Finding::Severity::problem)
            << finding.name << ": " << finding.message;
    }
}

} // namespace
} // namespace deadman::contract
