// The SQLite store when something stands in its way: a stopped process, a stalled lock, a full
// disk.
//
// Goal:   callers get a clear error within a bound; nothing is lost or doubled; it goes on once the
// way is free. Method: sqlite_fixture.h.

#include <csignal>
#include <thread>

#include <sys/resource.h>

#include "tests/integration/sqlite_fixture.h"

namespace deadman::integration {
namespace {

using namespace std::chrono_literals;

using base::ErrorCode;

/// Claims one job in a process of its own, then does `then` with it and waits for its end.
class Holder {
  public:
    using Then = std::function<void(store::JobStore&, const store::SessionKey&,
                                    const store::Claimed&, const std::function<void()>&)>;

    Holder(const std::function<std::unique_ptr<store::JobStore>()>& open,
           const domain::LeaseTerms& terms, const Then& then)
        : child_([&](const auto& say_ready) {
              const auto store = open();
              const auto session =
                  store->register_session({.worker = "holder", .pid = getpid(), .terms = terms});
              const auto claimed =
                  store->claim(session->key, {.claim_no = 1, .queues = {"default"}, .max = 1});
              then(*store, session->key, claimed->at(0), say_ready);
          }) {}

    Child& child() {
        return child_;
    }

  private:
    Child child_;
};

TEST_F(SqliteStoreTest, DeathOfAProcessIsSeenLongBeforeItsLeaseIsOver) {
    domain::JobId id;
    {
        const auto store = open();
        id = store->enqueue(std::vector{spec()})->at(0).id;
    }
    domain::LeaseTerms terms;
    terms.lease = 10min;
    terms.sweep = 50ms;
    Holder holder([&] { return open(); }, terms,
                  [](auto&, auto&, auto&, const auto& say_ready) {
                      say_ready();
                      pause();
                  });
    ASSERT_TRUE(holder.child().wait_ready());
    const auto store = open();
    auto leader = store->try_lead();
    ASSERT_TRUE(leader && *leader);
    holder.child().send(SIGSTOP); // a stopped process is not dead
    for (int i = 0; i < 3; ++i) {
        const auto report = (*leader)->sweep({.terms = terms});
        ASSERT_TRUE(report.has_value());
        EXPECT_EQ(report->sessions_lapsed, 0);
    }
    holder.child().send(SIGKILL);
    holder.child().wait();
    const auto report = (*leader)->sweep({.terms = terms});
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->sessions_lapsed, 1);
    EXPECT_EQ(report->runs_returned, 1);
    EXPECT_EQ(store->find(id)->value().state, domain::JobState::pending);
}

bool names_blocker(const std::vector<store::Finding>& findings, int pid) {
    for (const store::Finding& finding : findings)
        if (finding.name == "blocked_by_writer" &&
            finding.message.find("process " + std::to_string(pid) + " ") != std::string::npos)
            return true;
    return false;
}

// PROTOCOL Q2: everybody waits, nothing is lost or doubled, the process is named, and the sessions
// that could not renew meanwhile are not reaped.
TEST_F(SqliteStoreTest, ProcessStoppedInsideTransactBlocksButLosesNothing) {
    ask("CREATE TABLE effect (job INTEGER) STRICT");
    domain::JobId id;
    {
        const auto store = open();
        id = store->enqueue(std::vector{spec()})->at(0).id;
    }
    const auto terms = domain::LeaseTerms::scaled_to(800ms);
    const SharedLedger ledger;
    Holder holder([&] { return open(); }, terms,
                  [&](store::JobStore& store, const auto& session, const auto& claimed,
                      const auto& say_ready) {
                      const base::Status status = store.transact(
                          session, claimed.run, "", [&](store::EffectTransaction& transaction) {
                              auto written = transaction.execute("INSERT INTO effect VALUES (?1)",
                                                                 {claimed.run.job.value});
                              say_ready();
                              while (!ledger->is_over)
                                  std::this_thread::yield();
                              return written ? base::Status{} : base::Status{written.error()};
                          });
                      if (!status)
                          ledger->fail("transact", status.error());
                  });
    ASSERT_TRUE(holder.child().wait_ready());
    holder.child().send(SIGSTOP);

    options_.busy_patience = 300ms;
    const auto store = open();
    const auto blocked = store->enqueue(std::vector{spec()});
    ASSERT_FALSE(blocked.has_value());
    EXPECT_EQ(blocked.error().code, ErrorCode::unavailable);
    EXPECT_EQ(store->count_outstanding().value_or(-1), 1) << "readers are not blocked";
    const auto findings = store->examine();
    ASSERT_TRUE(findings.has_value());
    EXPECT_TRUE(names_blocker(*findings, holder.child().pid()));

    holder.child().send(SIGCONT);
    ledger->is_over = true;
    holder.child().wait();
    EXPECT_TRUE(store->enqueue(std::vector{spec()}).has_value());
    // Past its bound: rolled back, as one. Within it (a fast machine): committed, as one.
    const bool is_done = store->find(id)->value().state == domain::JobState::succeeded;
    EXPECT_EQ(ask("SELECT count(*) FROM effect"), is_done ? "1" : "0");
    EXPECT_EQ(ledger->errors, is_done ? 0 : 1) << ledger->first_error;
}

TEST_F(SqliteStoreTest, SessionsAreNotReapedForAStallOfTheWriteLock) {
    const auto store = open();
    const auto terms = domain::LeaseTerms::scaled_to(800ms);
    const auto session = store->register_session({.worker = "alive", .terms = terms});
    ASSERT_TRUE(session.has_value());
    auto leader = store->try_lead();
    ASSERT_TRUE(leader && *leader);
    ASSERT_TRUE((*leader)->sweep({.terms = terms}).has_value());

    sqlite3* blocker = nullptr;
    sqlite3_open(options_.path.c_str(), &blocker);
    ASSERT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    base::Result<store::UpkeepReport> report = store::UpkeepReport{};
    base::Result<store::Renewal> renewal = store::Renewal{};
    std::thread sweeping([&] { report = (*leader)->sweep({.terms = terms}); });
    nap(1'200ms); // longer than the lease
    std::thread renewing([&] { renewal = store->renew(session->key, {}); });
    sqlite3_exec(blocker, "ROLLBACK", nullptr, nullptr, nullptr);
    sqlite3_close(blocker);
    sweeping.join();
    renewing.join();
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_TRUE(report->grace);
    EXPECT_EQ(report->sessions_lapsed, 0);
    EXPECT_TRUE(renewal.has_value()) << renewal.error().message;
}

TEST_F(SqliteStoreTest, BodyThatOnlyWaitsIsRolledBackAtItsBound) {
    options_.transaction_bound = 100ms;
    const auto store = open();
    const auto id = store->enqueue(std::vector{spec()})->at(0).id;
    const auto session = store->register_session({.worker = "slow"});
    const auto claimed =
        store->claim(session->key, {.claim_no = 1, .queues = {"default"}, .max = 1});
    bool was_let_in = false;
    const base::Status status = store->transact(
        session->key, claimed->at(0).run, "", [&](store::EffectTransaction& transaction) {
            EXPECT_TRUE(transaction.execute("CREATE TABLE effect (id INTEGER)").has_value());
            // Its own store's writes wait for it too: it is let in once this one was thrown out.
            was_let_in = store->enqueue(std::vector{spec()}).has_value();
            return base::Status{};
        });
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::conflict)
        << "the handler's to mend: an attempt is spent";
    EXPECT_TRUE(was_let_in);
    EXPECT_EQ(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'effect'"), "0");
    EXPECT_EQ(store->find(id)->value().state, domain::JobState::running);
}

TEST_F(SqliteStoreTest, AStatementUnderWayEndsWhenItIsCancelled) {
    options_.transaction_bound = 10min;
    const auto store = open();
    static_cast<void>(store->enqueue(std::vector{spec()}));
    const auto session = store->register_session({.worker = "w"});
    const auto claimed =
        store->claim(session->key, {.claim_no = 1, .queues = {"default"}, .max = 1});
    const base::Status status = store->transact(
        session->key, claimed->at(0).run, "",
        [&](store::EffectTransaction& transaction) -> base::Status {
            EXPECT_TRUE(transaction.execute("CREATE TABLE effect (id INTEGER)").has_value());
            const std::jthread canceller([&] { transaction.cancel(); });
            const auto rows = transaction.execute("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL "
                                                  "SELECT n + 1 FROM r) SELECT count(*) FROM r");
            EXPECT_FALSE(rows.has_value());
            EXPECT_EQ(rows.error().code, ErrorCode::cancelled);
            return {};
        });
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::cancelled);
    EXPECT_EQ(ask("SELECT count(*) FROM sqlite_schema WHERE name = 'effect'"), "0");
}

TEST_F(SqliteStoreTest, AStatementWithParametersThatNobodyGaveIsRefused) {
    const auto store = open();
    static_cast<void>(store->enqueue(std::vector{spec()}));
    const auto session = store->register_session({.worker = "w"});
    const auto claimed =
        store->claim(session->key, {.claim_no = 1, .queues = {"default"}, .max = 1});
    const base::Status status = store->transact(
        session->key, claimed->at(0).run, "",
        [&](store::EffectTransaction& transaction) -> base::Status {
            EXPECT_TRUE(transaction.execute("CREATE TABLE effect (a, b)").has_value());
            DEADMAN_TRY_STATUS(transaction.execute("INSERT INTO effect VALUES (?1, ?2)", {"one"}));
            return {};
        });
    ASSERT_FALSE(status.has_value()) << "SQLite takes the second for null";
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
}

TEST_F(SqliteStoreTest, FullDiskIsAClearErrorAndPasses) {
    const SharedLedger ledger;
    Child child([&](const auto&) {
        signal(SIGXFSZ, SIG_IGN);
        const auto store = open();
        domain::JobSpec big = spec();
        big.payload = "\"" + std::string(100'000, 'x') + "\"";
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        const rlimit small{4U << 20, limit.rlim_max};
        setrlimit(RLIMIT_FSIZE, &small);
        int refused = 0;
        for (int i = 0; i < 100; ++i) {
            const auto answer = store->enqueue(std::vector{big});
            if (answer)
                ledger->is_acknowledged[answer->at(0).id.value] = 1;
            else if (answer.error().code == ErrorCode::unavailable ||
                     answer.error().code == ErrorCode::exhausted)
                ++refused;
            else
                ledger->fail("enqueue", answer.error());
        }
        if (refused == 0)
            ledger->fail("it was never full", {});
        setrlimit(RLIMIT_FSIZE, &limit);
        const auto answer = store->enqueue(std::vector{big});
        if (answer)
            ledger->is_acknowledged[answer->at(0).id.value] = 1;
        else
            ledger->fail("enqueue once there was room again", answer.error());
    });
    child.wait();
    EXPECT_EQ(ledger->errors, 0) << ledger->first_error;
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    std::int64_t acknowledged = 0;
    for (std::int64_t id = 0; id < 1'000; ++id)
        acknowledged += ledger->is_acknowledged[id];
    EXPECT_GT(acknowledged, 1);
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_ready"), std::to_string(acknowledged));
}

} // namespace
} // namespace deadman::integration
