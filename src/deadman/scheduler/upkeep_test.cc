// Goal: somebody always looks after the store, whoever dies and however long the store is away.
// Method: step() by hand over the in-memory store and a simulated clock. Outages: tests/sim.

#include "deadman/scheduler/upkeep.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "deadman/store/memory/memory_job_store.h"

namespace deadman::scheduler {
namespace {

using namespace std::chrono_literals;

class UpkeepTest : public ::testing::Test {
  protected:
    Upkeep make() {
        return Upkeep(
            {},
            {.store = store, .clock = clock, .on_sweep = [this](const store::UpkeepReport& report) {
                 reports.push_back(report);
             }});
    }

    store::SessionKey session_with_a_run() {
        domain::JobSpec spec;
        spec.kind = "k";
        job = store.enqueue({&spec, 1}).value()[0].id;
        const auto session = store.register_session({}).value();
        EXPECT_EQ(store.claim(session.key, {.claim_no = 1, .queues = {"default"}}).value().size(),
                  1U);
        return session.key;
    }

    base::SimulatedClock clock;
    store::MemoryJobStore store{clock};
    std::vector<store::UpkeepReport> reports;
    domain::JobId job;
};

TEST_F(UpkeepTest, LeadsAndReturnsTheRunsOfTheDead) {
    Upkeep upkeep = make();
    session_with_a_run();
    for (int i = 0; i < 10; ++i) {
        upkeep.step();
        EXPECT_TRUE(upkeep.leads());
        clock.advance(upkeep.pause());
    }
    EXPECT_EQ(store.find(job).value()->state, domain::JobState::pending);
    std::int64_t lapsed = 0;
    for (const store::UpkeepReport& report : reports)
        lapsed += report.sessions_lapsed;
    EXPECT_EQ(lapsed, 1);
}

TEST_F(UpkeepTest, OneOfTwoLeadsAndTheOtherTakesOverWithinASweepOfItsEnd) {
    Upkeep second = make();
    {
        Upkeep first = make();
        first.step();
        second.step();
        EXPECT_TRUE(first.leads());
        EXPECT_FALSE(second.leads());
        EXPECT_LT(second.pause(), first.pause());
    }
    clock.advance(second.pause());
    second.step();
    EXPECT_TRUE(second.leads());
}

TEST_F(UpkeepTest, ALeaderThatWasStoppedFindsItselfReplaced) {
    Upkeep first = make();
    Upkeep second = make();
    first.step();
    clock.advance(1h);
    second.step();
    ASSERT_TRUE(second.leads());
    first.step();
    EXPECT_FALSE(first.leads());
    EXPECT_FALSE(reports.back().still_leader);
}

TEST_F(UpkeepTest, RunEndsWhenToldAndGivesUpLeadership) {
    base::SystemClock real;
    Upkeep upkeep({}, {.store = store, .clock = real});
    std::jthread thread([&](std::stop_token stop) { upkeep.run(stop); });
    thread.request_stop();
    thread.join();
    EXPECT_FALSE(upkeep.leads());
    EXPECT_NE(store.try_lead().value(), nullptr);
}

} // namespace
} // namespace deadman::scheduler
