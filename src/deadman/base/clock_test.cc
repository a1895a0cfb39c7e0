// Goal: simulated time moves only when told to, and wakes those whose deadline has passed.

#include "deadman/base/clock.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace deadman::base {
namespace {

using namespace std::chrono_literals;

TEST(SimulatedClock, AdvanceMovesBothClocksAndAStepOnlyTheWall) {
    SimulatedClock clock(from_micros(1'000'000));
    const SteadyTime began = clock.steady_now();
    clock.advance(5s);
    EXPECT_EQ(clock.now(), from_micros(6'000'000));
    EXPECT_EQ(clock.steady_now() - began, 5s);
    clock.step_wall(-1h);
    EXPECT_EQ(clock.now(), from_micros(6'000'000) - 1h);
    EXPECT_EQ(clock.steady_now() - began, 5s);
}

TEST(SimulatedClock, WakesASleeperOnlyAtItsDeadline) {
    SimulatedClock clock;
    std::mutex mutex;
    std::condition_variable condition;
    const SteadyTime deadline = clock.steady_now() + 10s;
    std::atomic<bool> woke = false;
    std::jthread sleeper([&] {
        std::unique_lock lock(mutex);
        EXPECT_FALSE(clock.wait_until(lock, condition, deadline, [] { return false; }));
        EXPECT_GE(clock.steady_now(), deadline);
        woke = true;
    });
    clock.advance(10s - 1us);
    // The sleeper checks for itself that it has not been let go early; here time goes on.
    clock.advance(1us);
    sleeper.join();
    EXPECT_TRUE(woke);
}

TEST(SimulatedClock, ReturnsAtOnceWhereThePredicateHolds) {
    SimulatedClock clock;
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock lock(mutex);
    EXPECT_TRUE(clock.wait_until(lock, condition, clock.steady_now() + 1h, [] { return true; }));
}

TEST(SimulatedClock, SeesAPredicateThatBecomesTrueInSimulatedStandstill) {
    SimulatedClock clock;
    std::mutex mutex;
    std::condition_variable condition;
    bool ready = false;
    std::jthread signaller([&] {
        {
            const std::lock_guard lock(mutex);
            ready = true;
        }
        condition.notify_all();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(clock.wait_until(lock, condition, clock.steady_now() + 1h, [&] { return ready; }));
}

TEST(SystemClock, TimesOutAndNeverStepsBack) {
    const SystemClock clock;
    SystemClock waiting;
    std::mutex mutex;
    std::condition_variable condition;
    std::unique_lock lock(mutex);
    const SteadyTime before = clock.steady_now();
    EXPECT_FALSE(waiting.wait_until(lock, condition, before + 5ms, [] { return false; }));
    EXPECT_GE(clock.steady_now() - before, 5ms);
}

TEST(SystemClock, WaitsForASignalHoweverFarTheDeadline) {
    SystemClock clock;
    std::mutex mutex;
    std::condition_variable condition;
    bool ready = false;
    std::jthread signaller([&] {
        {
            const std::lock_guard lock(mutex);
            ready = true;
        }
        condition.notify_all();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(clock.wait_until(lock, condition, SteadyTime::max(), [&] { return ready; }));
}

TEST(SystemClock, WallTimeIsOfThisCentury) {
    EXPECT_GT(SystemClock().now(), from_micros(1'700'000'000'000'000));
    EXPECT_LT(SystemClock().now(), from_micros(4'102'444'800'000'000));
}

} // namespace
} // namespace deadman::base
