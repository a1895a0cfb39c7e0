// Goal: the public library keeps its promises through its own header alone.

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "deadman/deadman.h"

namespace deadman {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 30s;

struct Embedded : testing::Test {
    Store store = Store::open("memory:");
    Worker worker{store, {.slots = 2}};

    std::optional<JobState> run(const Job& job) {
        return store.wait(store.enqueue(job), patience);
    }
};

TEST_F(Embedded, RunsAJobWithItsPayload) {
    std::string seen;
    worker.handle("copy", [&](deadman::Run& context) {
        seen = context.payload();
        EXPECT_EQ(context.attempt(), 1);
        EXPECT_EQ(context.idempotency_key(), "deadman-job-" + std::to_string(context.job_id()));
        context.set_result(R"({"ok":true})");
    });
    worker.start();
    EXPECT_EQ(run({.kind = "copy", .payload = R"({"n":12345678901234567890})"}),
              JobState::succeeded);
    EXPECT_EQ(seen, R"({"n":12345678901234567890})");
}

TEST_F(Embedded, ATransactionEndsTheRun) {
    worker.handle("effect", [](deadman::Run& context) {
        context.transaction([](Transaction& transaction) {
            transaction.execute("insert into effect values (?1)", {std::int64_t{1}});
        });
    });
    worker.start();
    EXPECT_EQ(run({.kind = "effect"}), JobState::succeeded);
}

TEST_F(Embedded, WhatATransactionsBodyThrowsComesOutAndTheAttemptFails) {
    std::atomic<int> caught = 0;
    worker.handle("effect", [&](deadman::Run& context) {
        try {
            context.transaction([](Transaction&) { throw std::logic_error("no"); });
        } catch (const std::logic_error&) {
            ++caught;
            throw;
        }
    });
    worker.start();
    EXPECT_EQ(run({.kind = "effect", .max_attempts = 1}), JobState::failed);
    EXPECT_EQ(caught, 1);
}

TEST_F(Embedded, SnoozeRunsAgainAndFailIsFinal) {
    std::atomic<int> runs = 0;
    worker.handle("twice", [&](deadman::Run& context) {
        EXPECT_EQ(context.attempt(), 1);
        if (++runs == 1)
            context.snooze(10ms);
        try {
            context.fail("enough");
        } catch (const std::exception&) {
            ADD_FAILURE() << "a handler's own catch saw the early answer";
        }
    });
    worker.start();
    EXPECT_EQ(run({.kind = "twice"}), JobState::failed);
    EXPECT_EQ(runs, 2);
}

TEST_F(Embedded, BadInputThrowsAndNothingIsEnqueued) {
    EXPECT_THROW(store.enqueue({.kind = "no spaces"}), Error);
    EXPECT_THROW(store.enqueue({.kind = "x", .payload = "{"}), Error);
    EXPECT_THROW(Store::open("nonsense"), Error);
    EXPECT_THROW(store.wait(999, 1ms), Error);
    EXPECT_EQ(store.count_outstanding(), 0);
}

TEST_F(Embedded, CancelTellsWhetherItCameInTime) {
    const auto id = store.enqueue({.kind = "later", .delay = 1h});
    EXPECT_EQ(store.state(id), JobState::scheduled);
    EXPECT_TRUE(store.cancel(id));
    EXPECT_FALSE(store.cancel(id));
    EXPECT_EQ(store.state(id), JobState::cancelled);
    EXPECT_EQ(store.state(id + 1), std::nullopt);
}

} // namespace
} // namespace deadman
