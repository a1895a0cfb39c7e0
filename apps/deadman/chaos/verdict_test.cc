#include "apps/deadman/chaos/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadman::chaos {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const JobEnd succeeded{"succeeded", ""};
const JobEnd quarantined{"failed", "quarantined"};
const JobEnd failed{"failed", "error"};

TEST(Verdict, FindsNothingWrongWithOneEffectEach) {
    const Verdict verdict = judge({1, 2}, {{1, succeeded}, {2, succeeded}}, {{1, 1}, {2, 1}});
    EXPECT_EQ(verdict.succeeded, 2);
    EXPECT_EQ(verdict.effects, 2);
    EXPECT_THAT(verdict.lost, IsEmpty());
    EXPECT_THAT(verdict.duplicated, IsEmpty());
    EXPECT_THAT(verdict.unearned, IsEmpty());
}

TEST(Verdict, NamesJobsThatSucceededWithoutEffectOrNeverEndedOrVanished) {
    const Verdict verdict = judge({1, 2, 3}, {{1, succeeded}, {3, succeeded}}, {{3, 1}});
    EXPECT_THAT(verdict.lost, ElementsAre(1, 2));
}

TEST(Verdict, NamesJobsWithMoreThanOneEffect) {
    const Verdict verdict = judge({1, 2}, {{1, succeeded}, {2, succeeded}}, {{1, 3}, {2, 1}});
    EXPECT_THAT(verdict.duplicated, ElementsAre(1));
    EXPECT_EQ(verdict.effects, 4);
}

TEST(Verdict, CountsAQuarantinedJobAsNeitherLostNorDoubled) {
    const Verdict verdict = judge({1, 2}, {{1, quarantined}, {2, failed}}, {});
    EXPECT_EQ(verdict.quarantined, 1);
    EXPECT_EQ(verdict.failed, 1);
    EXPECT_THAT(verdict.lost, IsEmpty());
}

TEST(Verdict, NamesEffectsOfJobsThatDidNotSucceed) {
    EXPECT_THAT(judge({1}, {{1, quarantined}}, {{1, 1}}).unearned, ElementsAre(1));
}

TEST(Verdict, IgnoresEffectsOfOthersJobs) {
    const Verdict verdict = judge({1}, {{1, succeeded}}, {{1, 1}, {99, 2}});
    EXPECT_EQ(verdict.effects, 1);
    EXPECT_THAT(verdict.duplicated, IsEmpty());
}

} // namespace
} // namespace deadman::chaos
