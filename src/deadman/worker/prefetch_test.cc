// Goal: short jobs are claimed by the hundred, long and large ones are not hoarded. Method: tables.

#include "deadman/worker/internal/prefetch.h"

#include <gtest/gtest.h>

namespace deadman::worker::internal {
namespace {

using namespace std::chrono_literals;

Prefetch of_four_slots(int prefetch = -1) {
    WorkerOptions options;
    options.slots = 4;
    options.prefetch = prefetch;
    return Prefetch(resolved(options));
}

TEST(Prefetch, IsTwiceTheSlotsUntilARunHasEnded) {
    EXPECT_EQ(of_four_slots().runs({}), 8U);
}

TEST(Prefetch, FollowsTheTimeOfARun) {
    const auto after_runs_of = [](base::Duration time) {
        Prefetch prefetch = of_four_slots();
        for (int i = 0; i < 100; ++i)
            prefetch.ran(time);
        return prefetch.runs({});
    };
    EXPECT_EQ(after_runs_of(10us), 2'000U) << "two claims";
    EXPECT_EQ(after_runs_of(1ms), 400U);
    EXPECT_EQ(after_runs_of(10ms), 40U);
    EXPECT_EQ(after_runs_of(1s), 8U);
    EXPECT_EQ(after_runs_of(24h), 8U);
}

TEST(Prefetch, SeesASlowerKindOfJobBeforeItsFirstRunHasEnded) {
    Prefetch prefetch = of_four_slots();
    prefetch.ran(10us);
    EXPECT_EQ(prefetch.runs(10ms), 40U);
    EXPECT_EQ(prefetch.runs(1h), 8U);
}

TEST(Prefetch, LargePayloadsAreNotHoarded) {
    Prefetch prefetch = of_four_slots();
    prefetch.ran(10us);
    prefetch.claimed(1 << 20);
    EXPECT_EQ(prefetch.runs({}), 16U);
}

TEST(Prefetch, ANumberThatWasChosenStays) {
    Prefetch prefetch = of_four_slots(3);
    prefetch.ran(10us);
    EXPECT_EQ(prefetch.runs({}), 3U);
    EXPECT_FALSE(prefetch.tunes_itself());
}

} // namespace
} // namespace deadman::worker::internal
