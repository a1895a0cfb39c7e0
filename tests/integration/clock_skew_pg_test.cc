// Case C39. Goal: a process whose own clock is wrong neither steals a live lease nor shifts a due
// time; the server's own clock, set back, keeps nobody alive who is dead (PROTOCOL S3). Method:
// three stores on one server, whose processes believe that it is ten minutes later, ten minutes
// earlier, and now; then a server whose clock is shifted by our setting.

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

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

struct ClockSetBack : testing::Test {
    store::UpkeepReport sweep() {
        return value(leadership->sweep(upkeep));
    }

    void pass(base::Duration by) {
        shift->wall_us += by.count();
        shift->steady_us += by.count();
    }

    void set_back(base::Duration by) {
        shift->wall_us -= by.count();
    }

    PostgresDatabase database;
    PostgresWire c{database.url()};
    base::SystemClock clock;
    std::shared_ptr<store::ClockShift> shift = std::make_shared<store::ClockShift>();
    std::unique_ptr<store::JobStore> store = open_store(clock, database.url(), shift);
    store::UpkeepRequest upkeep;
    std::unique_ptr<store::Leadership> leadership = value(store->try_lead());
};

TEST_F(ClockSetBack, KeepsTheDeadAliveForNoLongerThanALease) {
    const auto ids = enqueue(*store, 2);
    const store::Session dead = open_session(*store);
    const store::Session alive = open_session(*store);
    for (const auto* session : {&dead, &alive})
        ASSERT_EQ(value(store->claim(session->key, {.claim_no = 1, .queues = {"default"}})).size(),
                  1u);
    sweep();
    set_back(1h);
    EXPECT_TRUE(sweep().grace);
    std::int64_t lapsed = 0;
    const auto sweeps = upkeep.terms.lease / upkeep.terms.sweep + 3;
    for (int i = 0; i < sweeps; ++i) {
        pass(upkeep.terms.sweep);
        value(store->renew(alive.key, {}));
        lapsed += sweep().sessions_lapsed;
    }
    EXPECT_EQ(lapsed, 1);
    EXPECT_EQ(code_of(store->renew(dead.key, {})), base::ErrorCode::fenced);
    EXPECT_EQ(value(store->find(ids[0])).value().state, domain::JobState::pending);
    EXPECT_EQ(value(store->find(ids[0])).value().blame, domain::Blame{}) << "nobody can tell why";
}

TEST_F(ClockSetBack, BetweenTwoSweepsLeavesNoRenewalAhead) {
    enqueue(*store, 1);
    const store::Session session = open_session(*store);
    ASSERT_EQ(value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}})).size(), 1u);
    sweep();
    shift->wall_us += base::Duration(1h).count();
    value(store->renew(session.key, {}));
    set_back(1h);
    sweep();
    EXPECT_EQ(c.number("select count(*) from deadman.session where renewed_at > deadman.now() + "
                       "interval '3 s'"),
              0);
}

TEST_F(ClockSetBack, LeavesNoLeaderThatIsGoneInOffice) {
    sweep();
    leadership.reset();
    c.run("update deadman.leader set holder = gen_random_uuid(), by_lock = false, life = '1.5 s', "
          "until = deadman.now() + interval '1.5 s'");
    EXPECT_FALSE(value(store->try_lead()));
    set_back(1h);
    EXPECT_TRUE(value(store->try_lead()));
}

} // namespace
} // namespace deadman::test
