// Case C39. Goal: a process whose own clock is wrong neither steals a live lease nor shifts a due
// time. Method: three stores on one server, whose processes believe that it is ten minutes later,
// ten minutes earlier, and now; the server's clock alone decides.

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"

namespace deadman::test {
namespace {

using namespace std::chrono_literals;

/// The machine's steady clock beside a wall clock that is off.
class WrongClock final : public base::Clock {
  public:
    explicit WrongClock(base::Duration off) : off_(off) {}

    base::TimePoint now() const override {
        return system_.now() + off_;
    }

    base::SteadyTime steady_now() const override {
        return system_.steady_now();
    }

    bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                    base::SteadyTime deadline, const std::function<bool()>& predicate) override {
        return system_.wait_until(lock, condition, deadline, predicate);
    }

  private:
    base::SystemClock system_;
    base::Duration off_;
};

struct ClockSkew : testing::Test {
    PostgresDatabase database;
    base::SystemClock right;
    WrongClock fast{10min};
    WrongClock slow{-10min};
    std::unique_ptr<store::JobStore> on_time = open_store(right, database.url());
    std::unique_ptr<store::JobStore> ahead = open_store(fast, database.url());
    std::unique_ptr<store::JobStore> behind = open_store(slow, database.url());
};

TEST_F(ClockSkew, AReaperWhoseClockRunsAheadLeavesLiveLeasesAlone) {
    enqueue(*on_time, 3);
    const store::Session session = open_session(*on_time);
    ASSERT_EQ(
        value(on_time->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 3})).size(),
        3U);
    for (store::JobStore* reaper : {ahead.get(), behind.get()}) {
        const auto leadership = value(reaper->try_lead());
        ASSERT_NE(leadership, nullptr);
        for (int sweeps = 0; sweeps < 2; ++sweeps)
            EXPECT_EQ(value(leadership->sweep({})).sessions_lapsed, 0);
    }
    EXPECT_EQ(value(on_time->renew(session.key, {})).leases.size(), 1U);
}

TEST_F(ClockSkew, DueTimesAndBackoffsAreTheServersWhoeverAskedForThem) {
    for (store::JobStore* asker : {on_time.get(), ahead.get(), behind.get()}) {
        const base::TimePoint before = value(on_time->now());
        const auto id = enqueue(*asker, 1, {.kind = "work", .delay = 30s}).front();
        const base::TimePoint after = value(on_time->now());
        const auto job = value(on_time->find(id));
        ASSERT_TRUE(job.has_value());
        EXPECT_GE(job->due, before + 30s);
        EXPECT_LE(job->due, after + 30s);
        EXPECT_EQ(job->state, domain::JobState::scheduled);

        enqueue(*asker, 1);
        const store::Session session = open_session(*asker);
        const auto claimed =
            value(asker->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
        ASSERT_EQ(claimed.size(), 1U);
        domain::Answer failed;
        failed.kind = domain::AnswerKind::error;
        failed.delay = 60s;
        const store::RunEnd end{claimed[0].run, failed};
        const base::TimePoint asked = value(on_time->now());
        ASSERT_EQ(value(asker->complete(session.key, std::span(&end, 1))).at(0),
                  domain::Verdict::ok);
        const auto retried = value(on_time->find(claimed[0].run.job));
        ASSERT_TRUE(retried.has_value());
        EXPECT_GE(retried->due, asked + 60s);
        EXPECT_LE(retried->due, value(on_time->now()) + 60s);
    }
}

} // namespace
} // namespace deadman::test
