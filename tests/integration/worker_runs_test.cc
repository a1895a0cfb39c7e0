// Goal: jobs run to their end through a Worker with real threads, whatever a handler does.
// Method: handlers that answer, throw, wait at gates; the store tells what became of each job.

#include <algorithm>
#include <stdexcept>

#include "tests/integration/worker_fixture.h"

namespace deadman::worker::testing {
namespace {

using domain::Answer;
using domain::AnswerKind;
using domain::JobState;

Answer answer(AnswerKind kind) {
    Answer made;
    made.kind = kind;
    return made;
}

base::Status write_effect(store::EffectTransaction& transaction) {
    DEADMAN_TRY_STATUS(transaction.execute("insert into effects"));
    return {};
}

class WorkerRuns : public WorkerFixture {
  protected:
    /// Runs one job of `handler` to its end.
    store::JobRecord run_one(Handler handler, domain::JobSpec spec) {
        HandlerRegistry handlers;
        handlers.add(spec.kind, std::move(handler));
        const domain::JobId id = enqueue(spec);
        start_upkeep();
        RunningWorker worker(options(), handlers, tap, clock);
        EXPECT_TRUE(eventually([&] { return domain::is_terminal(state(id)); }));
        worker.drain();
        EXPECT_TRUE(worker.ends_within(20s));
        starts = worker.observer.starts(id);
        return find(id);
    }

    int starts = 0;
};

TEST_F(WorkerRuns, ManyJobsOnceEach) {
    HandlerRegistry handlers;
    handlers.add("noop", [](RunContext&) { return Answer{}; });
    const std::vector<domain::JobSpec> specs(500, job("noop"));
    const auto ids = store.enqueue(specs);
    ASSERT_TRUE(ids);
    RunningWorker worker(options(4, 100), handlers, store, clock);
    ASSERT_TRUE(eventually([&] { return all_finished(); }));
    for (const auto& made : *ids) {
        EXPECT_EQ(state(made.id), JobState::succeeded);
        EXPECT_EQ(worker.observer.starts(made.id), 1);
    }
    worker.drain();
    EXPECT_TRUE(worker.ends_within(20s));
    EXPECT_EQ(worker.observer.count(ReportKind::call_failed), 0U);
}

TEST_F(WorkerRuns, AResultIsKept) {
    const auto record = run_one(
        [](RunContext&) {
            Answer done;
            done.result = R"({"n":1})";
            return done;
        },
        job("count"));
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(record.result, R"({"n":1})");
}

TEST_F(WorkerRuns, AnErrorIsRetriedUntilTheAttemptsAreSpent) {
    domain::JobSpec spec = job("fails");
    spec.max_attempts = 3;
    const auto record = run_one([](RunContext&) { return answer(AnswerKind::error); }, spec);
    EXPECT_EQ(record.state, JobState::failed);
    EXPECT_EQ(record.attempts_spent, 3);
    EXPECT_EQ(starts, 3);
}

TEST_F(WorkerRuns, AnExceptionIsAnErrorWithItsText) {
    domain::JobSpec spec = job("throws");
    spec.max_attempts = 1;
    const auto record =
        run_one([](RunContext&) -> Answer { throw std::runtime_error("out of paper"); }, spec);
    EXPECT_EQ(record.state, JobState::failed);
    EXPECT_EQ(record.reason, "exception");
    EXPECT_EQ(record.message, "out of paper");
}

TEST_F(WorkerRuns, ASnoozeComesBackAndSpendsNothing) {
    std::atomic<int> calls = 0;
    const auto record = run_one(
        [&](RunContext& context) {
            EXPECT_EQ(context.attempt(), 1);
            Answer later = answer(++calls < 3 ? AnswerKind::snooze : AnswerKind::succeeded);
            later.delay = 5ms;
            return later;
        },
        job("patient"));
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(record.snoozes, 2);
    EXPECT_EQ(record.attempts_spent, 1);
}

TEST_F(WorkerRuns, ProgressReachesTheStoreWithAHeartbeat) {
    Gate gate;
    HandlerRegistry handlers;
    handlers.add("slow", [&](RunContext& context) {
        context.progress(40, "reading");
        gate.pass();
        return Answer{};
    });
    const domain::JobId id = enqueue(job("slow"));
    RunningWorker worker(options(), handlers, store, clock);
    EXPECT_TRUE(eventually([&] { return find(id).progress_percent == 40; }));
    EXPECT_EQ(find(id).progress_note, "reading");
    gate.open();
    EXPECT_TRUE(eventually([&] { return all_finished(); }));
}

TEST_F(WorkerRuns, ACancelledRunSeesItsTokenAndEndsCancelled) {
    Gate never;
    HandlerRegistry handlers;
    handlers.add("slow", [&](RunContext& context) {
        never.pass(context.stop_token());
        return Answer{};
    });
    const domain::JobId id = enqueue(job("slow"));
    RunningWorker worker(options(), handlers, store, clock);
    ASSERT_TRUE(eventually([&] { return never.waiting() == 1; }));
    EXPECT_EQ(store.cancel(id).value(), store::CancelAnswer::requested);
    EXPECT_TRUE(eventually([&] { return state(id) == JobState::cancelled; }));
}

TEST_F(WorkerRuns, ARunPastItsTimeoutIsStoppedAndSpendsAnAttempt) {
    Gate never;
    domain::JobSpec spec = job("slow");
    spec.timeout = 50ms;
    spec.max_attempts = 2;
    const auto record = run_one(
        [&](RunContext& context) {
            EXPECT_NE(context.deadline(), base::SteadyTime::max());
            never.pass(context.stop_token());
            return Answer{}; // too late to count
        },
        spec);
    EXPECT_EQ(record.state, JobState::failed);
    EXPECT_EQ(record.reason, "timeout");
    EXPECT_EQ(starts, 2);
}

TEST_F(WorkerRuns, AHandlerThatDoesNotStopLosesItsRunAndItsSlot) {
    Gate gate;
    HandlerRegistry handlers;
    handlers.add("deaf", [&](RunContext&) {
        gate.pass();
        return Answer{};
    });
    handlers.add("noop", [](RunContext&) { return Answer{}; });
    domain::JobSpec deaf = job("deaf");
    deaf.timeout = 20ms;
    deaf.max_attempts = 1;
    const domain::JobId id = enqueue(deaf);
    WorkerOptions with = options(1, 2);
    with.cancel_grace = 20ms;
    RunningWorker worker(with, handlers, store, clock);
    EXPECT_TRUE(eventually([&] { return state(id) == JobState::failed; }));
    EXPECT_TRUE(eventually([&] { return worker.observer.count(ReportKind::run_abandoned) == 1; }));
    const domain::JobId next = enqueue(job("noop"));
    EXPECT_EQ(worker.observer.starts(next), 0) << "its only slot is taken";
    gate.open();
    EXPECT_TRUE(eventually([&] { return state(next) == JobState::succeeded; }));
    EXPECT_EQ(state(id), JobState::failed) << "what the deaf one said counts for nothing";
}

TEST_F(WorkerRuns, BadJobsInABatchStrandNobody) { // C22
    HandlerRegistry handlers;
    handlers.add("good", [](RunContext&) { return Answer{}; });
    handlers.add("throws", [](RunContext&) -> Answer { throw 7; });
    std::vector<domain::JobSpec> specs;
    for (const char* kind : {"good", "good", "strange", "good", "throws", "good", "strange", "good",
                             "throws", "good"}) {
        specs.push_back(job(kind));
        specs.back().max_attempts = 2;
    }
    const auto ids = store.enqueue(specs).value();
    start_upkeep();
    RunningWorker worker(options(1, 20), handlers, store, clock);
    ASSERT_TRUE(eventually([&] { return all_finished(); }));
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const bool good = specs[i].kind == "good";
        EXPECT_EQ(state(ids[i].id), good ? JobState::succeeded : JobState::failed);
        EXPECT_EQ(find(ids[i].id).attempts_spent, good ? 1 : 2);
    }
    EXPECT_EQ(find(ids[2].id).reason, "unknown_kind");
    EXPECT_EQ(worker.observer.count(ReportKind::session_lost), 0U);
}

class WorkerTransactions : public WorkerRuns {
  protected:
    static domain::JobSpec effect() {
        domain::JobSpec spec = job("effect");
        spec.transactional = true;
        return spec;
    }
};

TEST_F(WorkerTransactions, AnEffectCommitsWithTheEndAndTheAnswerIsIgnored) {
    const auto record = run_one(
        [](RunContext& context) {
            EXPECT_TRUE(context.transaction(write_effect, R"({"ok":true})"));
            EXPECT_EQ(context.transaction(write_effect).error().code, base::ErrorCode::conflict);
            return answer(AnswerKind::failed);
        },
        effect());
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(record.result, R"({"ok":true})");
    EXPECT_EQ(store.committed_effects().size(), 1U);
}

TEST_F(WorkerTransactions, AThrowingBodyRollsBackAndTheRunGoesOn) {
    const auto record = run_one(
        [](RunContext& context) {
            const auto status = context.transaction([](store::EffectTransaction& transaction) {
                static_cast<void>(write_effect(transaction));
                throw std::runtime_error("no");
                return base::Status{};
            });
            EXPECT_FALSE(status);
            return Answer{};
        },
        effect());
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_TRUE(store.committed_effects().empty());
}

TEST_F(WorkerTransactions, OneWhoseAnswerWasLostHappenedOnce) {
    tap.lose_transact = true;
    const auto record = run_one(
        [](RunContext& context) {
            EXPECT_EQ(context.transaction(write_effect).error().code,
                      base::ErrorCode::outcome_unknown);
            return Answer{};
        },
        effect());
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(store.committed_effects().size(), 1U);
    EXPECT_EQ(starts, 1);
}

// F6: an outage of the store ended jobs for good, as if their handlers had failed.
TEST_F(WorkerTransactions, OneThatTheStoreLetDownSpendsNoAttempt) {
    tap.fail_transact_with = base::ErrorCode::unavailable;
    domain::JobSpec spec = effect();
    spec.max_attempts = 1;
    const auto record = run_one(
        [](RunContext& context) {
            const auto status = context.transaction(write_effect);
            return answer(status ? AnswerKind::succeeded : AnswerKind::error);
        },
        spec);
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(record.attempts_spent, 1);
    EXPECT_EQ(starts, 2);
    const auto runs = store.runs(record.id).value();
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0].outcome, domain::Outcome::release);
    EXPECT_EQ(runs[0].reason, "store_trouble");
}

TEST_F(WorkerTransactions, AStatementThatTheStoreLetDownSpendsNoAttemptEvenIfTheHandlerThrows) {
    tap.fail_execute_with = base::ErrorCode::exhausted;
    domain::JobSpec spec = effect();
    spec.max_attempts = 1;
    const auto record = run_one(
        [](RunContext& context) -> Answer {
            if (!context.transaction(write_effect))
                throw std::runtime_error("no connection");
            return Answer{};
        },
        spec);
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(starts, 2);
}

TEST_F(WorkerTransactions, TheBodysOwnTroubleIsNotTheStores) {
    domain::JobSpec spec = effect();
    spec.max_attempts = 2;
    const auto record = run_one(
        [](RunContext& context) {
            static_cast<void>(context.transaction([](store::EffectTransaction&) -> base::Status {
                return base::fail(base::ErrorCode::unavailable, "the printer is out of paper");
            }));
            return answer(AnswerKind::error);
        },
        spec);
    EXPECT_EQ(record.state, JobState::failed);
    EXPECT_EQ(starts, 2);
}

TEST_F(WorkerTransactions, OneUnderWayIsCancelledWhenItsRunIsStopped) {
    tap.hold_execute = true;
    domain::JobSpec spec = effect();
    spec.timeout = 50ms;
    spec.max_attempts = 1;
    const auto record = run_one(
        [](RunContext& context) {
            EXPECT_EQ(context.transaction(write_effect).error().code, base::ErrorCode::cancelled);
            return answer(AnswerKind::error);
        },
        spec);
    EXPECT_EQ(record.state, JobState::failed);
    EXPECT_EQ(record.reason, "timeout");
    EXPECT_TRUE(store.committed_effects().empty());
}

TEST_F(WorkerTransactions, OneThatDidNotHappenIsRunAgainAlthoughTheHandlerSaidSuccess) {
    tap.drop_transact = true;
    const auto record = run_one(
        [](RunContext& context) {
            static_cast<void>(context.transaction(write_effect));
            return Answer{};
        },
        effect());
    EXPECT_EQ(record.state, JobState::succeeded);
    EXPECT_EQ(store.committed_effects().size(), 1U);
    EXPECT_EQ(starts, 2);
}

TEST_F(WorkerTransactions, AStoppedRunMayNotBeginOne) {
    Gate never;
    HandlerRegistry handlers;
    handlers.add("effect", [&](RunContext& context) {
        never.pass(context.stop_token());
        EXPECT_EQ(context.transaction(write_effect).error().code, base::ErrorCode::cancelled);
        return Answer{};
    });
    const domain::JobId id = enqueue(effect());
    RunningWorker worker(options(), handlers, store, clock);
    ASSERT_TRUE(eventually([&] { return never.waiting() == 1; }));
    ASSERT_TRUE(store.cancel(id));
    EXPECT_TRUE(eventually([&] { return state(id) == JobState::cancelled; }));
    EXPECT_TRUE(store.committed_effects().empty());
}

} // namespace
} // namespace deadman::worker::testing
