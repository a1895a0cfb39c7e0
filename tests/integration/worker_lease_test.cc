// Goal: a worker keeps what is its own and lets go of what is not; it leaves in good order.
// Method: two workers over one store, a tap between them that counts and fails calls; where the
// lease's length matters, a simulated clock in step with the heartbeats.

#include "tests/integration/worker_fixture.h"

namespace deadman::worker::testing {
namespace {

using domain::Answer;
using domain::AnswerKind;
using domain::JobState;

HandlerRegistry waiting_at(Gate& gate) {
    HandlerRegistry handlers;
    handlers.add("wait", [&gate](RunContext& context) {
        gate.pass(context.stop_token());
        return Answer{};
    });
    handlers.add("deaf", [&gate](RunContext&) {
        gate.pass();
        return Answer{};
    });
    handlers.add("noop", [](RunContext&) { return Answer{}; });
    return handlers;
}

class WorkerDrain : public WorkerFixture {};

TEST_F(WorkerDrain, HeartbeatsGoOnUntilTheLastRunHasEnded) { // C16
    Gate gate;
    const domain::JobId id = enqueue(job("wait"));
    start_upkeep();
    RunningWorker first(options(), waiting_at(gate), tap, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    RunningWorker second(options(), waiting_at(gate), store, clock);
    first.drain();
    const domain::JobId late = enqueue(job("noop"));
    ASSERT_TRUE(eventually([&] { return state(late) == JobState::succeeded; }));
    const int claims = tap.claims;
    const int renewals = tap.renewals;
    ASSERT_TRUE(eventually([&] { return tap.renewals >= renewals + 3; }));
    EXPECT_EQ(tap.claims, claims) << "a draining worker claims nothing";
    EXPECT_EQ(first.observer.starts(late), 0);
    gate.open();
    EXPECT_TRUE(first.ends_within(20s));
    EXPECT_EQ(state(id), JobState::succeeded);
    EXPECT_EQ(store.runs(id).value().size(), 1U);
    EXPECT_EQ(first.left(), "");
}

TEST_F(WorkerDrain, UnstartedRunsAreClaimableAtOnceWithNothingSpent) { // C17
    Gate gate;
    std::vector<domain::JobSpec> specs(10, job("wait"));
    const auto ids = store.enqueue(specs).value();
    RunningWorker first(options(1, 10), waiting_at(gate), store, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    first.drain();
    ASSERT_TRUE(eventually([&] { return store.queues().value().at(0).pending == 9; }));
    for (const auto& made : ids)
        EXPECT_EQ(find(made.id).attempts_spent, 0);
    RunningWorker second(options(1, 10), waiting_at(gate), store, clock);
    gate.open();
    EXPECT_TRUE(eventually([&] { return all_finished(); }));
    EXPECT_TRUE(first.ends_within(20s));
    for (const auto& made : ids) {
        EXPECT_EQ(state(made.id), JobState::succeeded);
        EXPECT_EQ(find(made.id).attempts_spent, 1);
    }
}

TEST_F(WorkerDrain, AfterItsGraceTheRunningOneIsHandedBackWithAReason) { // C17, short grace
    Gate gate;
    const domain::JobId id = enqueue(job("wait"));
    WorkerOptions with = options(1, 10);
    with.drain_grace = 20ms;
    RunningWorker first(with, waiting_at(gate), store, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    first.drain();
    EXPECT_TRUE(first.ends_within(20s));
    EXPECT_EQ(state(id), JobState::pending);
    const auto runs = store.runs(id).value();
    EXPECT_EQ(runs.at(0).outcome, domain::Outcome::release);
    EXPECT_EQ(runs.at(0).reason, "drain");
    EXPECT_EQ(find(id).attempts_spent, 0);
}

TEST_F(WorkerDrain, ASecondSignalEndsItAlthoughAHandlerIsDeaf) { // C17
    Gate gate;
    const domain::JobId id = enqueue(job("deaf"));
    RunningWorker first(options(1, 10), waiting_at(gate), store, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    first.drain();
    const base::SteadyTime forced = clock.steady_now();
    first.force();
    ASSERT_TRUE(eventually([&] { return !first.left().empty(); }));
    EXPECT_LT(clock.steady_now() - forced,
              10s); // two seconds, on a machine with nothing else to do
    EXPECT_EQ(state(id), JobState::pending);
    gate.open(); // here the process goes on, as the test replaced its end
    EXPECT_TRUE(first.ends_within(20s));
}

TEST_F(WorkerDrain, AnIdleWorkerEndsAtOnce) {
    Gate gate;
    RunningWorker worker(options(), waiting_at(gate), tap, clock);
    ASSERT_TRUE(eventually([&] { return tap.claims >= 2; }));
    worker.drain();
    EXPECT_TRUE(worker.ends_within(20s));
    EXPECT_TRUE(store.sessions().value().at(0).ended_at);
}

class WorkerOutage : public WorkerFixture {};

TEST_F(WorkerOutage, WorkGoesOnWhenTheStoreComesBack) {
    Gate gate;
    tap.down = true;
    RunningWorker worker(options(), waiting_at(gate), tap, clock);
    ASSERT_TRUE(eventually([&] { return worker.observer.count(ReportKind::call_failed) >= 2; }));
    tap.down = false;
    const domain::JobId first = enqueue(job("noop"));
    ASSERT_TRUE(eventually([&] { return state(first) == JobState::succeeded; }));
    const domain::JobId held = enqueue(job("wait"));
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    tap.down = true;
    gate.open(); // it ends while nobody listens
    const std::size_t failures = worker.observer.count(ReportKind::call_failed);
    ASSERT_TRUE(
        eventually([&] { return worker.observer.count(ReportKind::call_failed) >= failures + 3; }));
    EXPECT_EQ(state(held), JobState::running);
    tap.down = false;
    EXPECT_TRUE(eventually([&] { return state(held) == JobState::succeeded; }));
    EXPECT_EQ(worker.observer.starts(held), 1);
}

TEST_F(WorkerOutage, LostAnswersLoseAndDoubleNothing) {
    Gate gate;
    const std::vector<domain::JobSpec> specs(200, job("noop"));
    const auto ids = store.enqueue(specs).value();
    tap.lose_answer_every = 3;
    RunningWorker worker(options(2, 10), waiting_at(gate), tap, clock);
    ASSERT_TRUE(eventually([&] { return all_finished(); }));
    for (const auto& made : ids)
        EXPECT_EQ(worker.observer.starts(made.id), 1);
}

class WorkerLease : public WorkerFixture {};

TEST_F(WorkerLease, AHandlerThatRunsOnPastItMakesTheWorkerLeave) {
    Gate gate;
    const domain::JobId id = enqueue(job("deaf"));
    WorkerOptions with = options();
    with.terms = domain::LeaseTerms::scaled_to(1s);
    RunningWorker worker(with, waiting_at(gate), tap, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    tap.refuse_renewals = true;
    EXPECT_TRUE(eventually([&] { return !worker.left().empty(); }));
    EXPECT_EQ(worker.observer.count(ReportKind::lease_uncertain), 1U);
    gate.open();
    EXPECT_TRUE(worker.ends_within(20s));
    EXPECT_EQ(state(id), JobState::running) << "nobody has told the store";
}

TEST_F(WorkerLease, AHandlerThatStopsKeepsTheWorkerInANewSession) {
    Gate gate;
    const domain::JobId id = enqueue(job("wait"));
    WorkerOptions with = options();
    with.terms = domain::LeaseTerms::scaled_to(1s);
    RunningWorker worker(with, waiting_at(gate), tap, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    tap.refuse_renewals = true;
    ASSERT_TRUE(eventually([&] { return worker.observer.count(ReportKind::session_ended) >= 1; }));
    tap.refuse_renewals = false;
    gate.open();
    EXPECT_TRUE(eventually([&] { return state(id) == JobState::succeeded; }));
    EXPECT_EQ(worker.left(), "");
    EXPECT_EQ(find(id).blame, domain::Blame{});
}

TEST_F(WorkerLease, ALostSessionStopsItsHandlersAndANewOneBegins) {
    Gate gate;
    const domain::JobId id = enqueue(job("wait"));
    RunningWorker worker(options(), waiting_at(gate), store, clock);
    ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
    ASSERT_TRUE(store.forget_session(store.sessions().value().at(0).id));
    EXPECT_TRUE(eventually([&] { return worker.observer.count(ReportKind::lease_lost) == 1; }));
    EXPECT_EQ(worker.observer.reports(ReportKind::lease_lost)[0].run.job, id);
    start_upkeep(); // returns the run
    gate.open();
    EXPECT_TRUE(eventually([&] { return state(id) == JobState::succeeded; }));
    EXPECT_EQ(worker.observer.starts(id), 2);
}

TEST(WorkerLongRuns, ManyLeasesLongAreNeverRescued) { // C01
    base::SimulatedClock clock;
    store::MemoryJobStore store(clock);
    StoreTap taps[2] = {StoreTap(store), StoreTap(store)};
    Gate gate;
    domain::JobSpec spec;
    spec.kind = "wait";
    spec.timeout = {};
    spec.max_attempts = 3;
    const std::vector<domain::JobSpec> specs(20, spec);
    const auto ids = store.enqueue(specs).value();

    WorkerOptions options;
    options.slots = 10;
    options.prefetch = 0;
    options.seed = 7;
    scheduler::Upkeep upkeep({}, {.store = store, .clock = clock});
    {
        RunningWorker first(options, waiting_at(gate), taps[0], clock);
        RunningWorker second(options, waiting_at(gate), taps[1], clock);
        ASSERT_TRUE(look_again_until([&] { return gate.waiting() == 20; }));
        const domain::LeaseTerms terms;
        for (base::Duration passed{}; passed < 6 * terms.lease; passed += terms.heartbeat) {
            const int before[2] = {taps[0].renewals, taps[1].renewals};
            for (base::Duration step{}; step < terms.heartbeat; step += terms.sweep) {
                clock.advance(terms.sweep);
                upkeep.step();
            }
            ASSERT_TRUE(look_again_until(
                [&] { return taps[0].renewals > before[0] && taps[1].renewals > before[1]; }));
        }
        gate.open();
        ASSERT_TRUE(look_again_until([&] { return store.count_outstanding().value() == 0; }));
    }
    for (const auto& made : ids) {
        const auto record = store.find(made.id).value().value();
        EXPECT_EQ(record.state, JobState::succeeded);
        EXPECT_EQ(record.attempts_spent, 1);
        EXPECT_EQ(store.runs(made.id).value().size(), 1U);
    }
}

} // namespace
} // namespace deadman::worker::testing
