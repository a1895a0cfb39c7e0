// Ends of runs, application transactions, cancel, retry and unique keys under directed
// interleavings (PROTOCOL E1 to E7).
//
// Goal and method: as claim_protocol_pg_test.cc.

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/support/claim_protocol.h"

namespace deadman::test {
namespace {

using RetryProtocol = ClaimProtocol;
using EndProtocol = ClaimProtocol;
using AppTransaction = ClaimProtocol;

using Texts = std::vector<std::string>;

constexpr const char* repeatable_read = "begin isolation level repeatable read";

Texts sorted(Texts texts) {
    std::ranges::sort(texts);
    return texts;
}

TEST_F(RetryProtocol, TwoAtRepeatableReadInsertOnce) {
    const auto job = enqueue(c, 1).at(0);
    const auto s = session();
    complete(c, s, claim(c, s, 1), failed);
    const std::string retry = "select deadman.retry(" + std::to_string(job) + ")";
    auto a = connect();
    auto b = connect();
    for (auto* each : {a.get(), b.get()}) {
        each->run(repeatable_read);
        each->run("select 1 from deadman.job");
    }
    a->run(retry);
    b->send(retry);
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->sqlstate_of_finish(), "40001");
    EXPECT_EQ(ready(), 1);
}

TEST_F(RetryProtocol, RetriedJobLapsesAgain) {
    const auto job = enqueue(c, 1).at(0);
    const auto s = session();
    complete(c, s, claim(c, s, 1), failed);
    c.run("select deadman.retry(" + std::to_string(job) + ")");
    claim(c, s, 2);
    EXPECT_EQ(c.number("select deadman.count_outstanding()"), 1);
    expire(s);
    reap();
    EXPECT_EQ(state(job), "pending");
}

TEST_F(RetryProtocol, TransactionalJobIsClaimedSoloAgain) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session();
    complete(c, s, claim(c, s, 1), failed);
    c.run("select deadman.retry(" + std::to_string(job) + ")");
    EXPECT_TRUE(claim(c, s, 2).at(0).solo);
}

TEST_F(EndProtocol, ReaperSkipsALeaseThatIsBeingCompleted) {
    const auto jobs = enqueue(c, 3);
    const auto s = session();
    const auto held = claim(c, s, 1, 3);
    auto a = connect();
    a->run("begin");
    complete(*a, s, {held[0]});
    expire(s);
    ASSERT_EQ(mark(), s.id);
    EXPECT_EQ(return_leases(c), 0);
    a->run("commit");
    EXPECT_EQ(return_leases(c), 2);
    EXPECT_EQ(states(jobs), (Texts{"succeeded", "pending", "pending"}));
}

TEST_F(EndProtocol, CompletersOfOneLeaseEndEachJobOnce) {
    enqueue(c, 3);
    const auto s = session();
    const auto held = claim(c, s, 1, 3);
    auto a = connect();
    auto b = connect();
    a->run("begin");
    complete(*a, s, {held[0], held[1]});
    b->send(complete_sql(s, {held[1], held[2]}));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(verdicts(b->finish()), (Texts{"repeat", "ok"}));
    EXPECT_EQ(c.number("select count(*) from deadman.done"), 3);
    EXPECT_EQ(c.number("select count(*) from deadman.lease"), 0);
}

TEST_F(EndProtocol, FastPathYieldsToACancel) {
    const auto jobs = enqueue(c, 3);
    const auto s = session();
    const auto held = claim(c, s, 1);
    auto a = connect();
    auto b = connect();
    a->run("begin");
    a->run("select deadman.cancel(" + std::to_string(jobs[1]) + ")");
    b->send(complete_all_sql(s, held));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->finish().at(0).at(0), "f");
    EXPECT_EQ(sorted(complete(c, s, held)), (Texts{"cancelled", "ok", "ok"}));
}

TEST_F(EndProtocol, FastPathYieldsToAnEarlierTry) {
    enqueue(c, 3);
    const auto s = session();
    const auto held = claim(c, s, 1);
    auto a = connect();
    auto b = connect();
    a->run("begin");
    EXPECT_EQ(a->one(complete_all_sql(s, held)), "t");
    b->send(complete_all_sql(s, held));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->finish().at(0).at(0), "f");
    EXPECT_EQ(complete(c, s, held), Texts(3, "repeat"));
}

TEST_F(EndProtocol, UnknownOutcomeIsReadBackAsRepeat) {
    enqueue(c, 3);
    const auto s = session();
    const auto held = claim(c, s, 1);
    auto a = connect();
    auto b = connect();
    a->run("begin");
    complete(*a, s, held);
    b->send(complete_sql(s, held));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(verdicts(b->finish()), Texts(3, "repeat"));
    EXPECT_EQ(complete(c, session(), held), Texts(3, "fenced"));
}

TEST_F(EndProtocol, CountIsNeverZeroWhileAJobMoves) {
    enqueue(c, 1);
    const auto s = session();
    std::atomic<bool> over{false};
    std::atomic<int> wrong{0};
    std::thread looker([&] {
        PostgresWire eye(database.url());
        while (!over)
            if (eye.one("select deadman.count_outstanding()") != "1")
                ++wrong;
    });
    for (int i = 1; i <= 150; ++i)
        complete(c, s, claim(c, s, i), i % 2 == 0 ? snooze : release);
    over = true;
    looker.join();
    EXPECT_EQ(wrong, 0);
}

TEST_F(EndProtocol, PayloadIsKeptAsSent) {
    c.run(R"(select deadman.enqueue('work', '{"b":1,  "a":1.10, "a":2}'))");
    const auto s = session();
    EXPECT_EQ(
        c.one("select payload from (" + claim_sql(s, 1) + ") x join deadman.job j using (id)"),
        R"({"b":1,  "a":1.10, "a":2})");
}

class AppTransactionAt : public ClaimProtocol, public testing::WithParamInterface<const char*> {
  protected:
    bool is_snapshot() const {
        return std::string(GetParam()) == repeatable_read;
    }
};

INSTANTIATE_TEST_SUITE_P(Levels, AppTransactionAt, testing::Values("begin", repeatable_read),
                         [](const auto& level) {
                             return level.index == 0 ? "read_committed" : "repeatable_read";
                         });

TEST_P(AppTransactionAt, GuardKeepsTheReaperAway) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    auto a = connect();
    a->run(GetParam());
    a->run(app_sql("guard", run, s));
    expire(s);
    reap();
    EXPECT_EQ(state(job), "running");
    a->run("insert into public.effect values (1)");
    a->run(app_sql("complete", run, s));
    a->run("commit");
    reap();
    EXPECT_EQ(state(job), "succeeded");
}

TEST_P(AppTransactionAt, ZombieIsFencedAndItsEffectRollsBack) {
    enqueue(c, 1, true);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    auto a = connect();
    a->run(GetParam());
    a->run("insert into public.effect values (1)");
    expire(s);
    reap();
    const auto next = session();
    const auto again = claim(c, next, 1).at(0);
    EXPECT_EQ(a->sqlstate_of(app_sql("complete", run, s)), is_snapshot() ? "40001" : "DM001");
    a->run("rollback");
    c.run("begin; insert into public.effect values (1)");
    c.run(app_sql("complete", again, next));
    c.run("commit");
    EXPECT_EQ(c.number("select count(*) from public.effect"), 1);
}

TEST_P(AppTransactionAt, AcceptedCancelStopsTheEffect) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    auto a = connect();
    a->run(GetParam());
    a->run("insert into public.effect values (1)");
    EXPECT_EQ(c.one("select deadman.cancel(" + std::to_string(job) + ")"), "requested");
    EXPECT_EQ(a->sqlstate_of(app_sql("complete", run, s)), is_snapshot() ? "40001" : "DM003");
    a->run("rollback");
    EXPECT_EQ(complete(c, s, {run}), Texts{"cancelled"});
    EXPECT_EQ(c.number("select count(*) from public.effect"), 0);
}

TEST_F(AppTransaction, TwoTriesAtRepeatableReadMakeOneEffect) {
    enqueue(c, 1, true);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    auto a = connect();
    auto b = connect();
    for (auto* each : {a.get(), b.get()}) {
        each->run(repeatable_read);
        each->run("insert into public.effect values (1)");
    }
    a->run(app_sql("complete", run, s));
    b->send(app_sql("complete", run, s));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->sqlstate_of_finish(), "40001");
    b->run("rollback");
    EXPECT_EQ(c.number("select count(*) from public.effect"), 1);
}

TEST_F(AppTransaction, SharedLeaseIsRefused) {
    enqueue(c, 1);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    EXPECT_EQ(c.sqlstate_of(app_sql("guard", run, s)), "DM002");
    EXPECT_EQ(c.sqlstate_of(app_sql("complete", run, s)), "DM002");
}

TEST_F(AppTransaction, BatchDoesNotStallOnAGuardedJob) {
    enqueue(c, 2);
    enqueue(c, 1, true);
    const auto s = session();
    const auto held = claim(c, s, 1, 3);
    const auto solo = *std::ranges::find_if(held, &WireClaim::solo);
    auto a = connect();
    a->run("begin");
    a->run(app_sql("guard", solo, s));
    auto b = connect();
    b->send(complete_sql(s, held));
    ASSERT_FALSE(b->blocks());
    EXPECT_EQ(sorted(verdicts(b->finish())), (Texts{"busy", "ok", "ok"}));
    a->run("rollback");
    EXPECT_EQ(complete(c, s, {solo}), Texts{"ok"});
}

TEST_F(AppTransaction, IdleClientLosesItsGuard) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session("1 s");
    const auto run = claim(c, s, 1).at(0);
    auto a = connect();
    a->run("begin");
    a->run(app_sql("guard", run, s));
    const std::string there =
        "select count(*) from pg_stat_activity where pid = " + std::to_string(a->pid());
    ASSERT_TRUE(eventually([&] { return c.one(there) == "0"; }));
    expire(s);
    reap();
    EXPECT_EQ(state(job), "pending");
}

TEST_F(AppTransaction, ClientKilledInALongStatementLosesItsGuard) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session("1 s");
    const auto run = claim(c, s, 1).at(0);
    auto a = connect();
    a->run("begin");
    a->run(app_sql("guard", run, s));
    a->send("select pg_sleep(60)");
    a->cut();
    expire(s);
    EXPECT_TRUE(eventually([&] {
        reap();
        return state(job) == "pending";
    }));
}

TEST_F(AppTransaction, EnqueueIsDurableWhereTheAppIsNot) {
    auto a = connect("set synchronous_commit = off");
    a->run("begin");
    enqueue(*a, 1);
    EXPECT_EQ(a->one("show synchronous_commit"), "on");
    a->run("commit");
    EXPECT_EQ(a->one("show synchronous_commit"), "off");
}

TEST_F(EndProtocol, ARunsKeyOpensThatRunAlone) {
    enqueue(c, 2, true);
    const auto s = session();
    const auto runs = claim(c, s, 1, 2);
    ASSERT_EQ(runs.size(), 2U);
    const auto call = [](const std::string& function, const WireClaim& run,
                         const std::string& key) {
        return "select deadman." + function + "(" + std::to_string(run.job) + ", " +
               std::to_string(run.fence) + ", " + key + ")";
    };
    const std::string key_of_other = "deadman.run_key('" + s.key + "', " +
                                     std::to_string(runs[1].job) + ", " +
                                     std::to_string(runs[1].fence) + ")";
    for (const char* function : {"guard", "complete"}) {
        EXPECT_EQ(c.sqlstate_of(call(function, runs[0], key_of_other)), "DM001");
        EXPECT_EQ(c.sqlstate_of(call(function, runs[0], "'" + s.key + "'")), "DM001")
            << "the session's own key is none";
        EXPECT_EQ(c.sqlstate_of(call(function, runs[0], "''")), "DM001");
        EXPECT_EQ(c.sqlstate_of(call(function, runs[0], "null")), "DM001");
    }
    c.run(app_sql("complete", runs[0], s));
    EXPECT_EQ(state(runs[0].job), "succeeded");
}

TEST_F(EndProtocol, ASharedRunIsToldThatItsJobWasNotEnqueuedAsTransactional) {
    enqueue(c, 2, false);
    const auto s = session();
    const auto run = claim(c, s, 1, 2).at(0);
    for (const char* function : {"guard", "complete"}) {
        try {
            c.run(app_sql(function, run, s));
            ADD_FAILURE() << function;
        } catch (const WireFailure& failure) {
            EXPECT_EQ(failure.sqlstate(), "DM002");
            EXPECT_NE(std::string(failure.what()).find("was not enqueued as transactional"),
                      std::string::npos)
                << failure.what();
        }
    }
}

TEST_F(EndProtocol, AGuardedStatementIsBoundedByTheJobsTimeoutAndNeverLengthened) {
    const auto limit_after_guard = [&](const std::string& before, const std::string& timeout) {
        const auto id = c.number("select deadman.enqueue('work', transactional => true, timeout => "
                                 "interval '" +
                                 timeout + "')");
        const auto s = session();
        const auto run = claim(c, s, 1).at(0);
        EXPECT_EQ(run.job, id);
        auto a = connect();
        a->run("begin; set local statement_timeout = '" + before + "'");
        a->run(app_sql("guard", run, s));
        const std::string limit = a->one("show statement_timeout");
        a->run(app_sql("complete", run, s));
        a->run("commit");
        EXPECT_NE(a->one("show statement_timeout"), "77s") << "the transaction's own";
        return limit;
    };
    EXPECT_EQ(limit_after_guard("0", "77 s"), "77s");
    EXPECT_EQ(limit_after_guard("5s", "77 s"), "5s");
    EXPECT_EQ(limit_after_guard("2min", "77 s"), "77s");
}

} // namespace
} // namespace deadman::test
