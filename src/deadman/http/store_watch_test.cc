// Goal: a store that is away is known within a second, whether it refuses or hangs, and its return
// too. Method: a store that answers as told, on real clocks, waited for by its own signals.

#include "deadman/http/store_watch.h"

#include <gtest/gtest.h>

#include "deadman/store/memory/memory_job_store.h"
#include "tests/support/faulty_job_store.h"

namespace deadman::http {
namespace {

using test_support::FaultyJobStore;
using test_support::StoreFault;
using test_support::StoreMethod;

/// Until `is_up` is as wanted; false where that takes too long.
bool turns(const StoreWatch& watch, base::Clock& clock, bool wanted) {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable never;
    for (int round = 0; round < 500 && watch.is_up() != wanted; ++round)
        clock.wait_until(lock, never, clock.steady_now() + std::chrono::milliseconds(10),
                         [] { return false; });
    return watch.is_up() == wanted;
}

class StoreWatchTest : public testing::Test {
  protected:
    base::SystemClock clock_;
    store::MemoryJobStore memory_{clock_};
    FaultyJobStore store_{memory_, clock_};
    const StoreWatchOptions quick_{.ask_every = std::chrono::milliseconds(50),
                                   .stuck_after = std::chrono::milliseconds(80)};
};

TEST_F(StoreWatchTest, SeesARefusalAndTheReturn) {
    const StoreWatch watch(store_, clock_, quick_);
    ASSERT_TRUE(turns(watch, clock_, true));
    store_.arm({.kind = StoreFault::Kind::fail_before, .method = StoreMethod::question});
    EXPECT_TRUE(turns(watch, clock_, false));
    EXPECT_TRUE(turns(watch, clock_, true)); // the fault fires once
}

TEST_F(StoreWatchTest, SeesACallThatHangs) {
    StoreWatch watch(store_, clock_, quick_);
    store_.arm({.kind = StoreFault::Kind::stall,
                .method = StoreMethod::question,
                .stall = std::chrono::milliseconds(600)});
    watch.look_again();
    EXPECT_TRUE(turns(watch, clock_, false));
    EXPECT_EQ(watch.health().message, "the store does not answer");
    EXPECT_TRUE(turns(watch, clock_, true));
}

} // namespace
} // namespace deadman::http
