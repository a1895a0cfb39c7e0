// Goal: jobs run to their end through a Worker with real threads, whatever a handler does.
// Method: handlers that answer, throw, wait at gates; the store tells what became of each job.

#include "tests/integration/worker_fixture.h"

namespace deadman::worker::testing {
namespace {

using domain::Answer;
using domain::AnswerKind;
using domain::JobState;

class WorkerRuns : public WorkerFixture {};

TEST_F(WorkerRuns, ManyJobsOnceEach) {
    HandlerRegistry handlers;
    handlers.add("noop", [](RunContext&) { return Answer{}; });
    std::vector<domain::JobSpec> specs(500, job("noop"));
    const auto ids = store.enqueue(specs);
    ASSERT_TRUE(ids);
    RunningWorker worker(options(4, 100), handlers, store, clock);
    ASSERT_TRUE(eventually([&] { return all_finished(); }));
    for (const auto& made : *ids) {
        EXPECT_EQ(state(made.id), JobState::succeeded);
        EXPECT_EQ(worker.observer.starts(made.id), 1);
    }
    worker.drain();
    EXPECT_TRUE(worker.ends_within(10s));
    EXPECT_EQ(worker.observer.count(ReportKind::call_failed), 0U);
}

} // namespace
} // namespace deadman::worker::testing
