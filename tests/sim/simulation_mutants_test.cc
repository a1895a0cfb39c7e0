// Goal: the simulation can fail: each invariant is seen to catch a planted bug.
// Method: one mutation at a time, seeds until the invariant named complains.

#include <string>

#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace deadman::sim {
namespace {

constexpr std::uint64_t most_seeds = 200;

struct Case {
    const char* name;
    Mutation mutation;
    const char* complaint;
};

class SimulationMutants : public ::testing::TestWithParam<Case> {};

TEST_P(SimulationMutants, AreFound) {
    for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
        SimPlan plan;
        plan.seed = seed;
        plan.mutation = GetParam().mutation;
        plan.most_steps = 5'000;
        const SimResult result = simulate(plan);
        if (result.violation.starts_with(GetParam().complaint)) {
            RecordProperty("found_by_seed", std::to_string(seed));
            return;
        }
        // Another invariant may notice first; but some seed must bring out the one meant.
    }
    FAIL() << most_seeds << " seeds, and no complaint of " << GetParam().complaint;
}

INSTANTIATE_TEST_SUITE_P(
    Simulation, SimulationMutants,
    ::testing::Values(
        Case{"ReaperForgetsRun", Mutation::reaper_forgets_run, "I1"},
        Case{"ReaperNeverReaps", Mutation::reaper_never_reaps, "I1"},
        Case{"ReaperReopensEnded", Mutation::reaper_reopens_ended, "I2"},
        Case{"StaleCompletionCounts", Mutation::stale_completion_counts, "I3"},
        Case{"EndedSessionRenews", Mutation::ended_session_renews, "I3"},
        Case{"PillIsNeverQuarantined", Mutation::pill_is_never_quarantined, "I4"},
        Case{"ClaimRepeatsEnded", Mutation::claim_repeats_ended, "I4"},
        Case{"CoreIgnoresSelfFencing", Mutation::core_ignores_self_fencing, "I5"},
        Case{"EffectOutsideTransaction", Mutation::effect_outside_transaction, "effects"},
        Case{"UnknownTakenForSuccess", Mutation::unknown_taken_for_success, "effects"},
        Case{"CancelIsForgotten", Mutation::cancel_is_forgotten, "cancel"},
        Case{"ClaimGivesMoreThanAsked", Mutation::claim_gives_more_than_asked, "I7"}),
    [](const auto& planted) { return std::string(planted.param.name); });

} // namespace
} // namespace deadman::sim
