// A process that was told to leave does, whatever still waits: on simulated time.

#include <unistd.h>

#include <atomic>
#include <csignal>

#include <gtest/gtest.h>

#include "deadman/base/clock.h"
#include "deadman/worker/leaving.h"

namespace deadman::worker {
namespace {

using namespace std::chrono_literals;

class LeavingTest : public testing::Test {
  protected:
    void SetUp() override {
        auto made = Leaving::watch(clock_, [this] {
            gave_up_ = true;
            gave_up_.notify_all();
        });
        ASSERT_TRUE(made) << made.error().message;
        leaving_ = std::move(*made);
    }

    /// The watchdog looks again every millisecond of real time; it must not have given up by then.
    bool has_given_up() {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        never.wait_for(lock, 30ms, [this] { return gave_up_.load(); });
        return gave_up_;
    }

    base::SimulatedClock clock_;
    std::atomic<bool> gave_up_{false};
    std::unique_ptr<Leaving> leaving_;
};

TEST_F(LeavingTest, NobodyIsHurriedWhoWasNotAskedToLeave) {
    clock_.advance(1'000h);
    EXPECT_FALSE(has_given_up());
    EXPECT_FALSE(leaving_->wait(0s));
}

TEST_F(LeavingTest, BeforeThereIsWorkNothingIsWaitedForLong) {
    leaving_->ask();
    EXPECT_TRUE(leaving_->wait());
    clock_.advance(4s);
    EXPECT_FALSE(has_given_up());
    clock_.advance(2s);
    gave_up_.wait(false);
}

TEST_F(LeavingTest, ADrainMayTakeItsGraceAndALittleMore) {
    leaving_->expect_drain(60s);
    leaving_->ask();
    clock_.advance(69s);
    EXPECT_FALSE(has_given_up());
    clock_.advance(2s);
    gave_up_.wait(false);
}

TEST_F(LeavingTest, ASecondSignalLeavesASecondPatienceOfItsOwn) {
    leaving_->expect_drain(1h);
    leaving_->ask();
    clock_.advance(10s);
    EXPECT_FALSE(has_given_up());
    leaving_->ask();
    clock_.advance(4s);
    EXPECT_FALSE(has_given_up());
    clock_.advance(2s);
    gave_up_.wait(false);
}

TEST_F(LeavingTest, WhoHasLeftInTimeIsNotEnded) {
    leaving_->ask();
    leaving_.reset();
    clock_.advance(1h);
    EXPECT_FALSE(has_given_up());
}

TEST_F(LeavingTest, SignalsAsk) {
    ::kill(::getpid(), SIGTERM);
    EXPECT_TRUE(leaving_->wait());
}

} // namespace
} // namespace deadman::worker
