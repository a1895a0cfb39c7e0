// The SQLite store among many processes: they share one file, are killed, take each other's place.
//
// Goal:   no acknowledged job is lost, no end is doubled, and no "locked" reaches a caller.
// Method: sqlite_fixture.h.

#include <algorithm>
#include <thread>

#include "deadman/base/random.h"
#include "tests/integration/sqlite_fixture.h"

namespace deadman::integration {
namespace {

using namespace std::chrono_literals;

// One client's life: enqueue, claim, renew, end, list, and note what it was told.
class Client {
  public:
    Client(store::JobStore& store, Ledger& ledger, std::uint64_t seed)
        : store_(store), ledger_(ledger), random_(seed) {
        terms_ = domain::LeaseTerms::scaled_to(2s);
        auto session = store_.register_session({.worker = "client", .terms = terms_});
        if (session)
            key_ = session->key;
        else
            ledger_.fail("register", session.error());
    }

    void step() {
        enqueue();
        work();
        if (random_.chance(0.2))
            list();
    }

    void leave() {
        static_cast<void>(store_.end_session(key_, "done"));
    }

  private:
    void enqueue() {
        const std::vector<domain::JobSpec> specs(1 + random_.below(10), spec());
        const auto answers = store_.enqueue(specs);
        if (!answers)
            return ledger_.fail("enqueue", answers.error());
        for (const store::Enqueued& answer : *answers) {
            ledger_.is_acknowledged[answer.id.value] = 1;
            ++ledger_.acknowledged;
        }
    }

    void work() {
        const auto claimed =
            store_.claim(key_, {.claim_no = ++claim_no_, .queues = {"default"}, .max = 12});
        if (!claimed)
            return ledger_.fail("claim", claimed.error());
        if (const auto renewal = store_.renew(key_, {}); !renewal)
            return ledger_.fail("renew", renewal.error());
        std::vector<store::RunEnd> ends;
        for (const store::Claimed& job : *claimed)
            ends.push_back({job.run, {}});
        const auto verdicts = store_.complete(key_, ends);
        if (!verdicts)
            return ledger_.fail("complete", verdicts.error());
        for (std::size_t i = 0; i < ends.size(); ++i)
            if ((*verdicts)[i] == domain::Verdict::ok) {
                ++ledger_.ends[ends[i].run.job.value];
                ++ledger_.ended;
            }
    }

    void list() {
        if (const auto page = store_.list({.limit = 20}); !page)
            ledger_.fail("list", page.error());
        else
            ++ledger_.listed;
    }

    store::JobStore& store_;
    Ledger& ledger_;
    base::Random random_;
    domain::LeaseTerms terms_;
    store::SessionKey key_;
    std::int64_t claim_no_ = 0;
};

void run_clients(store::JobStore& store, Ledger& ledger, int threads, std::uint64_t seed) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([&, i] {
            Client client(store, ledger, seed * 100 + static_cast<std::uint64_t>(i));
            while (!ledger.is_over)
                client.step();
            client.leave();
        });
    for (std::thread& thread : running)
        thread.join();
}

// C49.
TEST_F(SqliteStoreTest, ManyProcessesSeeNoLockAndLoseNothing) {
    options_.checkpoint_pages = 500;
    const SharedLedger ledger;
    std::vector<std::unique_ptr<Child>> children;
    for (std::uint64_t i = 0; i < 4; ++i)
        children.push_back(std::make_unique<Child>([&, i](const auto& say_ready) {
            const auto store = open();
            say_ready();
            run_clients(*store, *ledger, 4, i + 1);
        }));
    Child reader([&](const auto& say_ready) {
        sqlite3* handle = nullptr;
        sqlite3_open(options_.path.c_str(), &handle);
        sqlite3_exec(handle, "BEGIN; SELECT count(*) FROM deadman_job", nullptr, nullptr, nullptr);
        say_ready();
        pause();
    });
    for (const auto& child : children)
        ASSERT_TRUE(child->wait_ready());
    ASSERT_TRUE(reader.wait_ready());
    nap(2s);
    children.front()->send(SIGKILL);
    children.front()->wait();
    nap(1s);
    reader.send(SIGKILL);
    reader.wait();
    nap(2s);
    ledger->is_over = true;
    for (std::size_t i = 1; i < children.size(); ++i)
        EXPECT_EQ(children[i]->wait(), 0);

    EXPECT_EQ(ledger->errors, 0) << ledger->first_error;
    EXPECT_GT(ledger->ended, 0);
    EXPECT_GT(ledger->listed, 0);
    EXPECT_LT(log_bytes(), 64U << 20);
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");

    // What the killed one held comes back, and then every job is done, once.
    ledger->is_over = false;
    const auto store = open();
    store::UpkeepRequest upkeep;
    upkeep.terms = domain::LeaseTerms::scaled_to(2s);
    std::thread finisher([&] { run_clients(*store, *ledger, 1, 9); });
    sweep_until(*store, upkeep, [&] {
        return ask("SELECT count(*) FROM deadman_session WHERE state = 'live' AND pid = 0") <= "1";
    });
    ledger->is_over = true;
    finisher.join();
    auto session = store->register_session({.worker = "last"});
    ASSERT_TRUE(session.has_value());
    for (std::int64_t claim_no = 1;; ++claim_no) {
        const auto claimed =
            store->claim(session->key, {.claim_no = claim_no, .queues = {"default"}, .max = 1'000});
        ASSERT_TRUE(claimed.has_value()) << claimed.error().message;
        if (claimed->empty())
            break;
        std::vector<store::RunEnd> ends;
        for (const store::Claimed& job : *claimed)
            ends.push_back({job.run, {}});
        ASSERT_TRUE(store->complete(session->key, ends).has_value());
        for (const store::Claimed& job : *claimed)
            ++ledger->ends[job.run.job.value];
    }
    EXPECT_EQ(store->count_outstanding().value_or(-1), 0);
    std::int64_t acknowledged = 0;
    for (std::int64_t id = 0; id < most_jobs; ++id) {
        ASSERT_LE(ledger->ends[id], 1) << "job " << id << " ended twice";
        acknowledged += ledger->is_acknowledged[id];
    }
    EXPECT_EQ(acknowledged, ledger->acknowledged);
    EXPECT_GE(std::stoll(ask("SELECT count(*) FROM deadman_done WHERE state = 'succeeded'")),
              acknowledged);
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_job WHERE id NOT IN (SELECT id FROM deadman_done)"),
              "0");
}

TEST_F(SqliteStoreTest, WhatWasAcknowledgedSurvivesAKillInAGroupCommit) {
    const SharedLedger ledger;
    for (std::uint64_t round = 0; round < 5; ++round) {
        const std::int64_t before = ledger->acknowledged;
        Child child([&](const auto& say_ready) {
            const auto store = open();
            say_ready();
            run_clients(*store, *ledger, 6, round);
        });
        ASSERT_TRUE(child.wait_ready());
        while (ledger->acknowledged < before + 100)
            std::this_thread::yield();
        child.send(SIGKILL);
        child.wait();
        ASSERT_EQ(ledger->errors, 0) << ledger->first_error;
    }
    EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
    const auto store = open();
    std::int64_t checked = 0;
    for (std::int64_t id = 0; checked < ledger->acknowledged; ++id) {
        ASSERT_LT(id, most_jobs);
        if (ledger->is_acknowledged[id] == 0)
            continue;
        ++checked;
        const auto job = store->find({id});
        ASSERT_TRUE(job.has_value());
        ASSERT_TRUE(job->has_value()) << "job " << id << " was acknowledged and is gone";
        if (ledger->ends[id] != 0) {
            EXPECT_EQ((*job)->state, domain::JobState::succeeded);
        }
    }
}

TEST_F(SqliteStoreTest, ManyProcessesMayMakeTheFileAtOnce) {
    options_.path = folder_->path() + "/new.db";
    const SharedLedger ledger;
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 6; ++i)
        children.push_back(std::make_unique<Child>([&](const auto&) {
            const auto store = open();
            if (const auto report = store->migrate(); !report)
                ledger->fail("migrate", report.error());
        }));
    for (const auto& child : children)
        EXPECT_EQ(child->wait(), 0);
    EXPECT_EQ(ledger->errors, 0) << ledger->first_error;
    EXPECT_EQ(ask("SELECT count(*) FROM deadman_migration"), "1");
}

TEST_F(SqliteStoreTest, EnqueueOfAnotherProcessWakesAnIdleOne) {
    const auto idle = open();
    const SharedLedger ledger;
    const auto other = open();
    std::thread enqueuing([&] {
        nap(100ms);
        EXPECT_TRUE(other->enqueue(std::vector{spec()}).has_value());
    });
    const std::vector<std::string> queues{"default"};
    const auto start = clock_.steady_now();
    idle->wait_for_work(queues, 20s);
    EXPECT_LT(clock_.steady_now() - start, 10s);
    enqueuing.join();
    EXPECT_EQ(idle->queues()->at(0).pending, 1);
}

TEST_F(SqliteStoreTest, LeadershipPassesOnAtDeathAndWhenItsHolderIsStopped) {
    Child holder([&](const auto& say_ready) {
        const auto store = open();
        const auto leader = store->try_lead();
        if (leader && *leader)
            say_ready();
        pause();
    });
    ASSERT_TRUE(holder.wait_ready());
    holder.send(SIGSTOP);
    const auto store = open();
    const auto refused = store->try_lead();
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(*refused, nullptr);
    nap(1'600ms); // one and a half sweeps of the default terms
    const auto by_row = store->try_lead();
    ASSERT_TRUE(by_row && *by_row);
    EXPECT_TRUE((*by_row)->sweep({})->still_leader);

    holder.send(SIGKILL);
    holder.wait();
    const auto by_lock = store->try_lead();
    ASSERT_TRUE(by_lock && *by_lock);
    EXPECT_TRUE((*by_lock)->sweep({})->still_leader);
    EXPECT_FALSE((*by_row)->sweep({})->still_leader);
}

} // namespace
} // namespace deadman::integration
