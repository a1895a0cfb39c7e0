// Handlers' transactions on Postgres while they run: told to stop, out of connections, claimed for
// it.
//
// Goal:   a statement that is under way ends when its run is told to, and nothing of it is
// committed. Method: statements that would take minutes; the server's own view of what it still
// runs.

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

class PostgresEffects : public testing::Test {
  protected:
    PostgresEffects() : c(database.url()), store(open_store(clock, database.url())) {
        c.run("create table effect(job bigint)");
    }

    store::RunKey claim_solo() {
        enqueue(*store, 1, {.kind = "work", .transactional = true});
        session = open_session(*store);
        return value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}})).at(0).run;
    }

    /// A body that runs `sql` after a first effect, cancelled once the server is at it.
    base::Status cancelled_in(const std::string& sql) {
        const store::RunKey run = claim_solo();
        std::jthread canceller;
        return store->transact(session.key, run, "", [&](store::EffectTransaction& transaction) {
            canceller = std::jthread([&] {
                while (c.number("select count(*) from pg_stat_activity where state = 'active' and "
                                "pid <> pg_backend_pid() and query = '" +
                                sql + "'") == 0) {
                }
                transaction.cancel();
            });
            const auto first = transaction.execute("insert into effect values (1)");
            EXPECT_TRUE(first.has_value());
            const auto rows = transaction.execute(sql);
            canceller.join();
            EXPECT_EQ(code_of(rows), ErrorCode::cancelled);
            EXPECT_EQ(code_of(transaction.execute("select 1")), ErrorCode::cancelled);
            return rows ? base::Status{} : base::Status{rows.error()};
        });
    }

    base::SystemClock clock;
    PostgresDatabase database;
    PostgresWire c;
    std::unique_ptr<store::JobStore> store;
    store::Session session;
};

// F5: neither its timeout, nor a cancel, nor a drain ended such a statement.
TEST_F(PostgresEffects, AStatementUnderWayEndsWhenItIsCancelled) {
    for (const char* sql :
         {"select pg_sleep(600)", "with recursive r(n) as (select 1 union all select n + 1 from r) "
                                  "select count(*) from r where n < 0"}) {
        const base::SteadyTime began = clock.steady_now();
        EXPECT_EQ(code_of(cancelled_in(sql)), ErrorCode::cancelled);
        EXPECT_LT(clock.steady_now() - began, 20s);
        EXPECT_EQ(c.number("select count(*) from effect"), 0);
        EXPECT_EQ(c.number("select count(*) from pg_stat_activity where state = 'active' and "
                           "pid <> pg_backend_pid() and backend_type = 'client backend'"),
                  0);
    }
}

TEST_F(PostgresEffects, ACancelBetweenStatementsCommitsNothing) {
    const store::RunKey run = claim_solo();
    const auto done =
        store->transact(session.key, run, "", [](store::EffectTransaction& transaction) {
            EXPECT_TRUE(transaction.execute("insert into effect values (1)").has_value());
            transaction.cancel();
            return base::Status{}; // whatever it says
        });
    EXPECT_EQ(code_of(done), ErrorCode::cancelled);
    EXPECT_EQ(c.number("select count(*) from effect"), 0);
    const store::RunEnd end{run, {.kind = domain::AnswerKind::cancelled}};
    EXPECT_EQ(value(store->complete(session.key, {&end, 1})).at(0), domain::Verdict::ok);
}

TEST_F(PostgresEffects, ManyThatWaitHoldUpNoOtherCall) {
    enqueue(*store, 12, {.kind = "work", .transactional = true});
    session = open_session(*store);
    const auto claimed =
        value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 12}));
    ASSERT_EQ(claimed.size(), 12U);
    std::atomic<int> inside = 0;
    std::atomic<bool> go_on = false;
    {
        std::vector<std::jthread> slots;
        for (const store::Claimed& one : claimed)
            slots.emplace_back([&, run = one.run] {
                const auto done = store->transact(session.key, run, "", [&](auto&) {
                    ++inside;
                    go_on.wait(false);
                    return base::Status{};
                });
                EXPECT_EQ(code_of(done), std::nullopt);
            });
        while (inside < 12)
            std::this_thread::yield();
        EXPECT_EQ(enqueue(*store, 1).size(), 1U);
        EXPECT_EQ(value(store->claim(session.key, {.claim_no = 2, .queues = {"default"}})).size(),
                  1U);
        go_on = true;
        go_on.notify_all();
    }
    EXPECT_EQ(value(store->count_outstanding()), 1);
}

// Whoever enqueued such a job did not know that it must have a lease of its own.
TEST_F(PostgresEffects, KindsThatAlwaysEndInATransactionAreClaimedForIt) {
    const auto lone = enqueue(*store, 3, {.kind = "work"});
    const auto others = enqueue(*store, 2, {.kind = "other"});
    store::SessionSpec spec;
    spec.queues = {"default"};
    spec.kinds = {"other", "work"};
    spec.solo_kinds = {"work"};
    session = value(store->register_session(spec));
    int solo = 0;
    for (const store::Claimed& claimed :
         value(store->claim(session.key, {.claim_no = 1, .queues = {"default"}, .max = 10}))) {
        EXPECT_EQ(claimed.solo, claimed.kind == "work");
        if (!claimed.solo)
            continue;
        ++solo;
        EXPECT_EQ(code_of(store->transact(session.key, claimed.run, "",
                                          [&](auto& transaction) {
                                              return transaction.execute(
                                                         "insert into effect values (1)")
                                                         ? base::Status{}
                                                         : base::fail(ErrorCode::internal, "");
                                          })),
                  std::nullopt);
    }
    EXPECT_EQ(solo, 3);
    EXPECT_EQ(c.number("select count(*) from effect"), 3);
    EXPECT_EQ(c.number("select count(*) from deadman.run"), 0)
        << "none had to be handed back first";
}

} // namespace
} // namespace deadman::test
