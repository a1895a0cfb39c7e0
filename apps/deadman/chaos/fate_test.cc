#include "apps/deadman/chaos/fate.h"

#include <map>

#include <gtest/gtest.h>

namespace deadman::chaos {
namespace {

constexpr FatePlan plan{.seed = 7, .death = 0.2, .pauses = 12, .jobs = 4'000};

TEST(Fate, IsTheSameForTheSameSeedJobAndRun) {
    for (int job = 0; job < 100; ++job)
        for (int run = 1; run < 5; ++run)
            EXPECT_EQ(draw_fate(plan, job, run), draw_fate(plan, job, run));
}

TEST(Fate, DiffersBetweenSeedsJobsAndRuns) {
    FatePlan other = plan;
    other.seed = 8;
    int by_seed = 0;
    int by_run = 0;
    int by_job = 0;
    for (int job = 0; job < 1'000; ++job) {
        by_seed += draw_fate(plan, job, 2) != draw_fate(other, job, 2);
        by_run += draw_fate(plan, job, 2) != draw_fate(plan, job, 3);
        by_job += draw_fate(plan, job, 2) != draw_fate(plan, job + 1, 2);
    }
    EXPECT_GT(by_seed, 300);
    EXPECT_GT(by_run, 300);
    EXPECT_GT(by_job, 300);
}

TEST(Fate, KillsTheShareAskedForEvenlyOverTheStages) {
    std::map<Stage, int> deaths;
    int reluctant = 0;
    int runs = 0;
    for (int job = 0; job < plan.jobs; ++job)
        for (int run = 2; run < 7; ++run, ++runs)
            if (const Fate fate = draw_fate(plan, job, run); fate.kind == FateKind::dies)
                ++(fate.reluctant ? reluctant : deaths[fate.stage]);
    for (const Stage stage : {Stage::before_effect, Stage::during_effect, Stage::after_effect})
        EXPECT_NEAR(static_cast<double>(deaths[stage]) / runs, plan.death / 3, 0.01)
            << stage_name(stage);
    EXPECT_NEAR(static_cast<double>(reluctant) / runs, plan.death * (reluctance - 1), 0.02);
}

TEST(Fate, PausesAsManyFirstRunsAsAskedForAtEachStage) {
    std::map<Stage, int> pauses;
    for (int job = 0; job < plan.jobs; ++job)
        for (int run = 1; run < 4; ++run)
            if (const Fate fate = draw_fate(plan, job, run); fate.kind == FateKind::pauses) {
                ++pauses[fate.stage];
                EXPECT_EQ(run, 1);
            }
    EXPECT_EQ(pauses[Stage::before_effect], 4);
    EXPECT_EQ(pauses[Stage::during_effect], 4);
    EXPECT_EQ(pauses[Stage::after_effect], 4);
}

TEST(Fate, IsToSurviveWhereNothingWasAskedFor) {
    const FatePlan peaceful{.seed = 1, .death = 0, .pauses = 0, .jobs = 100};
    for (int job = 0; job < 100; ++job)
        EXPECT_EQ(draw_fate(peaceful, job, 1), Fate{});
}

TEST(DeathChance, MakesTheShareLapse) {
    // One run lost a death: the chance is the share itself.
    EXPECT_NEAR(death_chance(0.4, 1), 0.4, 1e-9);
    // Ten lost a death: 1 death of 15 starts loses 10, against 15 - 1 that succeed ... and so on.
    const double chance = death_chance(0.4, 10);
    const double lapsed = chance * 10;
    const double succeeded = 1 - chance;
    EXPECT_NEAR(lapsed / (lapsed + succeeded), 0.4, 1e-9);
    EXPECT_EQ(death_chance(0, 5), 0);
}

} // namespace
} // namespace deadman::chaos
