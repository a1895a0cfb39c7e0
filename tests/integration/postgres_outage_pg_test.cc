// A Postgres server that goes away, or stays and says nothing.
//
// Goal:   calls answer in time, as the interface says, and recover by themselves; nothing is lost.
// Method: a private server is killed, ended, or stopped with all its processes.

#include <csignal>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

/// Its own server: it is killed.
class PostgresOutage : public testing::Test {
  protected:
    base::SystemClock clock;
    store::PrivateServer server = value(store::PrivateServer::start(clock));
};

TEST_F(PostgresOutage, CallsAnswerUnavailableAndRecoverByThemselves) {
    const auto store = open_store(clock, server.url());
    value(store->migrate());
    const auto session = open_session(*store);
    const auto ids = enqueue(*store, 3);
    const auto claimed =
        value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 1}));

    server.kill();
    // Its processes notice one after the other that their parent is gone; whoever is quick may
    // still be served.
    ASSERT_TRUE(
        eventually([&] { return code_of(store->count_outstanding()) == ErrorCode::unavailable; }));
    const auto start = clock.steady_now();
    EXPECT_EQ(code_of(store->renew(session.key, {})), ErrorCode::unavailable);
    const domain::JobSpec spec{.kind = "work"};
    EXPECT_EQ(code_of(store->enqueue({&spec, 1})), ErrorCode::unavailable);
    EXPECT_EQ(code_of(store->try_lead()), ErrorCode::unavailable);
    EXPECT_LT(clock.steady_now() - start, 5s);

    value(server.start_again());
    EXPECT_TRUE(eventually([&] { return store->count_outstanding().has_value(); }));
    EXPECT_EQ(value(store->count_outstanding()), 3);
    EXPECT_TRUE(eventually([&] { return store->renew(session.key, {}).has_value(); }));
    const store::RunEnd end{claimed[0].run, {}};
    EXPECT_EQ(value(store->complete(session.key, {&end, 1})).at(0), domain::Verdict::ok);
}

TEST_F(PostgresOutage, StoreOpensWhileTheServerIsAway) {
    server.stop();
    const auto store = open_store(clock, server.url());
    EXPECT_EQ(code_of(store->migrate()), ErrorCode::unavailable);
    value(server.start_again());
    EXPECT_TRUE(eventually([&] { return store->migrate().has_value(); }));
}

/// The whole server is stopped: its kernel still acknowledges, and nothing is answered.
class StoppedServer : public PostgresOutage {
  protected:
    StoppedServer() {
        store::PostgresOptions options;
        options.url = server.url();
        options.call_timeout = 500ms;
        store = value(store::PostgresJobStore::open(clock, options));
        value(store->migrate());
    }

    ~StoppedServer() override {
        go_on();
    }

    void stop() {
        pids.push_back(server.pid());
        PostgresWire c(server.url());
        for (const auto& row : c.run("select pid from pg_stat_activity"))
            pids.push_back(std::stoi(row[0]));
        for (const int pid : pids)
            ::kill(pid, SIGSTOP);
    }

    void go_on() {
        for (const int pid : pids)
            ::kill(pid, SIGCONT);
        pids.clear();
    }

    std::unique_ptr<store::JobStore> store;
    std::vector<int> pids;
};

TEST_F(StoppedServer, HoldsNoCallForLong) {
    const auto session = open_session(*store);
    const auto ids = enqueue(*store, 2, {.kind = "work", .transactional = true});
    const auto runs =
        value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 2}));
    ASSERT_EQ(runs.size(), 2u);

    stop();
    const auto start = clock.steady_now();
    const store::RunEnd end{runs[0].run, {}};
    EXPECT_EQ(code_of(store->complete(session.key, {&end, 1})), ErrorCode::outcome_unknown);
    EXPECT_EQ(code_of(store->renew(session.key, {})), ErrorCode::unavailable);
    const domain::JobSpec spec{.kind = "work"};
    EXPECT_EQ(code_of(store->enqueue({&spec, 1})), ErrorCode::unavailable) << "no connection";
    EXPECT_EQ(code_of(store->find(ids[0])), ErrorCode::unavailable);
    EXPECT_LT(clock.steady_now() - start, 12s);

    go_on();
    EXPECT_TRUE(eventually([&] { return store->renew(session.key, {}).has_value(); }));
    ASSERT_TRUE(eventually([&] { return store->find(ids[0]).has_value(); }));
    const auto verdict = value(store->complete(session.key, {&end, 1})).at(0);
    EXPECT_TRUE(verdict == domain::Verdict::ok || verdict == domain::Verdict::repeat)
        << domain::verdict_name(verdict);
    EXPECT_EQ(value(store->count_outstanding()), 1);
}

TEST_F(StoppedServer, InTheMiddleOfATransactionEndsIt) {
    const auto session = open_session(*store);
    const auto ids = enqueue(*store, 1, {.kind = "work", .transactional = true});
    const auto runs = value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}}));
    ASSERT_EQ(runs.size(), 1u);
    const auto start = clock.steady_now();
    const auto done = store->transact(session.key, runs[0].run, {}, [&](store::EffectTransaction&) {
        stop();
        return base::Status{};
    });
    EXPECT_EQ(code_of(done), ErrorCode::unavailable);
    EXPECT_LT(clock.steady_now() - start, 5s);
    go_on();
    ASSERT_TRUE(eventually([&] { return store->find(ids[0]).has_value(); }));
    EXPECT_EQ(value(store->find(ids[0])).value().state, domain::JobState::running);
}

} // namespace
} // namespace deadman::test
