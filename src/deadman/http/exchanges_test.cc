// Goal: one request, one answer, and what was given up is never run. Method: both orders of each
// race.

#include "deadman/http/internal/exchanges.h"

#include <thread>

#include <gtest/gtest.h>

#include "deadman/http/work_pool.h"

namespace deadman::http {
namespace {

class ExchangesTest : public testing::Test {
  protected:
    ExchangePtr make(base::SteadyTime began = {}) {
        return std::make_shared<Exchange>(
            Request{}, Match{}, began,
            [this](const Response& response) { statuses_.push_back(response.status); });
    }

    static auto with_status(int status) {
        return [status](bool) { return Response{status, "", "", {}}; };
    }

    std::vector<int> statuses_;
    base::SystemClock clock_;
};

TEST_F(ExchangesTest, OnlyTheFirstAnswerIsSent) {
    const auto exchange = make();
    EXPECT_TRUE(exchange->begin());
    exchange->answer(with_status(200));
    exchange->answer(with_status(503));
    EXPECT_EQ(statuses_, std::vector{200});
}

TEST_F(ExchangesTest, WhatWasGivenUpDoesNotBegin) {
    const auto exchange = make();
    exchange->answer([](bool begun) {
        EXPECT_FALSE(begun);
        return Response{503, "", "", {}};
    });
    EXPECT_FALSE(exchange->begin());
    EXPECT_EQ(statuses_, std::vector{503});
}

TEST_F(ExchangesTest, WhoGivesUpLearnsThatItHadBegun) {
    const auto exchange = make();
    ASSERT_TRUE(exchange->begin());
    bool told = false;
    exchange->answer([&told](bool begun) {
        told = begun;
        return Response{503, "", "", {}};
    });
    EXPECT_TRUE(told);
}

TEST_F(ExchangesTest, TheOldOnesAreFoundAndTheLastOneOutIsWaitedFor) {
    Exchanges exchanges;
    const auto old = make(base::SteadyTime{std::chrono::seconds(1)});
    const auto young = make(base::SteadyTime{std::chrono::seconds(3)});
    exchanges.add(old);
    exchanges.add(young);
    EXPECT_EQ(exchanges.older_than(base::SteadyTime{std::chrono::seconds(2)}), std::vector{old});
    EXPECT_FALSE(exchanges.wait_until_empty(clock_, base::Duration{}));
    std::thread ends([&] {
        exchanges.remove(old);
        exchanges.remove(young);
    });
    EXPECT_TRUE(exchanges.wait_until_empty(clock_, std::chrono::seconds(10)));
    ends.join();
}

TEST(WorkPool, RefusesWhatWouldWaitTooLong) {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    int done = 0;
    const auto work = [&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return open; });
        ++done;
        changed.notify_all();
    };
    WorkPool pool({.threads = 1, .max_waiting = 2});
    ASSERT_TRUE(pool.submit(work));
    // The first may or may not have been taken by its thread yet: one more place at the most.
    int taken = 1;
    while (pool.submit(work))
        ++taken;
    EXPECT_GE(taken, 2);
    EXPECT_LE(taken, 3);
    std::unique_lock lock(mutex);
    open = true;
    changed.notify_all();
    changed.wait(lock, [&] { return done == taken; });
    EXPECT_EQ(done, taken);
}

} // namespace
} // namespace deadman::http
