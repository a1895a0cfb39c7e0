// What the in-memory store has beyond the contract. The contract itself is tests/contract/.

#include "deadman/store/memory/memory_job_store.h"

#include <gtest/gtest.h>

namespace deadman::store {
namespace {

using namespace std::chrono_literals;

class MemoryStore : public testing::Test {
  protected:
    domain::JobId enqueue(bool transactional = true) {
        domain::JobSpec spec;
        spec.kind = "work";
        spec.transactional = transactional;
        return store.enqueue({&spec, 1})->front().id;
    }

    Claimed claim(const Session& session, int number) {
        return store.claim(session.key, {.claim_no = number, .queues = {"default"}})->at(0);
    }

    base::SimulatedClock clock;
    MemoryJobStore store{clock};
};

TEST_F(MemoryStore, KeepsCommittedStatementsWithTheirRun) {
    const domain::JobId id = enqueue();
    const Session session = *store.register_session({.worker = "w"});
    const Claimed claimed = claim(session, 1);
    const auto body = [](EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(transaction.execute("insert into t values (?1)", {std::int64_t{7}}));
        return {};
    };
    ASSERT_TRUE(store.transact(session.key, claimed.run, "{}", body));
    const auto effects = store.committed_effects();
    ASSERT_EQ(effects.size(), 1u);
    EXPECT_EQ(effects[0].run.job, id);
    EXPECT_EQ(effects[0].sql, "insert into t values (?1)");
    EXPECT_EQ(std::get<std::int64_t>(effects[0].parameters.at(0)), 7);
}

TEST_F(MemoryStore, SessionKeysFollowTheSeed) {
    MemoryJobStore same{clock};
    MemoryJobStore other{clock, {.seed = 2}};
    const std::string key = store.register_session({})->key.key;
    EXPECT_EQ(same.register_session({})->key.key, key);
    EXPECT_NE(other.register_session({})->key.key, key);
}

TEST_F(MemoryStore, DoesNotWaitInASimulation) {
    MemoryJobStore simulated{clock, {.blocking = false}};
    const std::vector<std::string> queues{"default"};
    simulated.wait_for_work(queues, 1h);
    EXPECT_EQ(clock.steady_now(), base::SteadyTime{});
}

TEST_F(MemoryStore, AWallClockThatStepsForwardGivesGrace) {
    const domain::JobId id = enqueue();
    const Session session = *store.register_session({.worker = "w"});
    claim(session, 1);
    const auto leadership = *store.try_lead();
    ASSERT_FALSE(leadership->sweep({})->grace);
    clock.advance(1s);
    clock.step_wall(1h);
    const UpkeepReport report = *leadership->sweep({});
    EXPECT_TRUE(report.grace);
    EXPECT_EQ(report.sessions_lapsed, 0);
    EXPECT_EQ((*store.find(id))->state, domain::JobState::running);
}

TEST_F(MemoryStore, AWallClockThatStepsBackGivesGraceAndStillReapsLater) {
    const domain::JobId id = enqueue();
    const Session session = *store.register_session({.worker = "w"});
    claim(session, 1);
    const auto leadership = *store.try_lead();
    ASSERT_TRUE(leadership->sweep({}));
    clock.step_wall(-10s);
    EXPECT_TRUE(leadership->sweep({})->grace);
    for (int second = 0; second < 30; ++second) {
        clock.advance(1s);
        ASSERT_TRUE(leadership->sweep({}));
    }
    EXPECT_EQ((*store.find(id))->state, domain::JobState::pending);
}

TEST_F(MemoryStore, WithoutOutageDetectionEverySweepReaps) {
    MemoryJobStore simulated{clock, {.detect_outages = false}};
    ASSERT_TRUE(simulated.register_session({.worker = "w"}));
    const auto leadership = *simulated.try_lead();
    clock.advance(1h);
    const UpkeepReport report = *leadership->sweep({});
    EXPECT_FALSE(report.grace);
    EXPECT_EQ(report.sessions_lapsed, 1);
}

TEST_F(MemoryStore, ADeathInAnOutageBlamesNobody) {
    const domain::JobId id = enqueue();
    const Session session = *store.register_session({.worker = "w"});
    claim(session, 1);
    const auto leadership = *store.try_lead();
    ASSERT_TRUE(leadership->sweep({}));
    clock.advance(1h); // the store was away; the worker died meanwhile
    EXPECT_TRUE(leadership->sweep({})->grace);
    for (int second = 0; second < 10; ++second) {
        clock.advance(1s);
        ASSERT_TRUE(leadership->sweep({}));
    }
    EXPECT_EQ((*store.find(id))->state, domain::JobState::pending);
    EXPECT_EQ((*store.find(id))->blame, domain::Blame{});
}

} // namespace
} // namespace deadman::store
