#include "apps/deadman/chaos/kill_control.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "deadman/base/random.h"

namespace deadman::chaos {
namespace {

// A crude world: jobs succeed one by one, a death dooms what the process held, and the reaper comes
// by every few steps.
double share_reached(double share, int jobs, std::uint64_t holds, double fate, std::uint64_t seed) {
    base::Random random(seed);
    RunCounts counts{.at_risk = static_cast<std::int64_t>(3 * holds), .alive = 3};
    for (int step = 0; counts.succeeded < jobs && step < 1'000'000; ++step) {
        const auto die = [&] {
            counts.doomed += static_cast<std::int64_t>(random.below(2 * holds) + 1);
        };
        ++counts.succeeded;
        ++counts.ended;
        const double chance = fates_hurried(share, counts) ? fate * 4 : fate;
        if (fates_armed(share, counts) && random.chance(chance))
            die();
        for (int kills = kills_wanted(share, jobs, counts); kills > 0; --kills)
            if (random.chance(0.5))
                die();
        if (step % 5 == 0) {
            counts.lapsed += counts.doomed;
            counts.ended += counts.doomed;
            counts.doomed = 0;
        }
    }
    const auto lapsed = static_cast<double>(counts.lapsed + counts.doomed);
    return lapsed / (static_cast<double>(counts.ended - counts.lapsed) + lapsed);
}

TEST(KillControl, ReachesTheShareWhateverADeathTakesAndFatesDo) {
    for (const double share : {0.1, 0.4, 0.6})
        for (const std::uint64_t holds : {1, 8, 16})
            for (const double fate : {0.0, 0.02, 0.3})
                EXPECT_NEAR(share_reached(share, 1'000, holds, fate, 5), share, 0.03)
                    << share << " holds " << holds << " fate " << fate;
}

TEST(KillControl, KillsNobodyWhereNoneAreToDie) {
    const RunCounts counts{.succeeded = 50, .ended = 50, .at_risk = 12, .alive = 3};
    EXPECT_EQ(kills_wanted(0, 100, counts), 0);
    EXPECT_FALSE(fates_armed(0, counts));
    EXPECT_FALSE(fates_hurried(0, counts));
}

TEST(KillControl, CountsTheRunsThatNobodyHasReturnedYet) {
    RunCounts counts{.succeeded = 20, .ended = 20, .at_risk = 12, .alive = 3};
    EXPECT_EQ(kills_wanted(0.5, 1'000, counts), 3);
    counts.doomed = 15;
    EXPECT_EQ(kills_wanted(0.5, 1'000, counts), 1);
    counts.doomed = 19;
    EXPECT_EQ(kills_wanted(0.5, 1'000, counts), 0);
    EXPECT_TRUE(fates_armed(0.5, counts));
    counts.doomed = 20;
    EXPECT_FALSE(fates_hurried(0.5, counts));
    counts.doomed = 22;
    EXPECT_FALSE(fates_armed(0.5, counts));
    counts.doomed = 5;
    EXPECT_TRUE(fates_hurried(0.5, counts));
}

TEST(KillControl, SparesWorkersThatHoldNothingAndAllWhenTheWorkIsDone) {
    EXPECT_EQ(kills_wanted(0.5, 100, {.succeeded = 20, .ended = 20, .at_risk = 0, .alive = 3}), 0);
    EXPECT_EQ(kills_wanted(0.5, 100, {.succeeded = 100, .ended = 100, .at_risk = 2, .alive = 3}),
              0);
}

} // namespace
} // namespace deadman::chaos
