// Goal: whatever dies, stops, fails or comes late, no job is lost or doubled.
// Method: eight WorkerCores, two contenders for upkeep and the in-memory store on one thread and a
// simulated clock; faults drawn from a seed; every invariant after every step. A seed replays:
//     DEADMAN_SIM_SEED=123 runs that one alone, with a trace. DEADMAN_SIM_SEEDS=10000 runs so many,
//     DEADMAN_SIM_FIRST=50000 from there.

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/sim/sim_world.h"

namespace deadman::sim {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(WorkerSimulation, NoJobIsLostOrDoubledUnderAnySeed) {
    const std::uint64_t only = from_environment("DEADMAN_SIM_SEED", 0);
    const std::uint64_t first = only != 0 ? only : from_environment("DEADMAN_SIM_FIRST", 1);
    const std::uint64_t seeds = only != 0 ? 1 : from_environment("DEADMAN_SIM_SEEDS", 1'000);
    SimResult total;
    for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        SimPlan plan;
        plan.seed = seed;
        plan.trace = only != 0;
        const SimResult result = simulate(plan);
        ASSERT_EQ(result.violation, "") << "replay with DEADMAN_SIM_SEED=" << seed;
        ASSERT_GE(result.steps, 200);
        total.steps += result.steps;
        total.starts += result.starts;
        total.deaths += result.deaths;
        total.lapses += result.lapses;
        total.quarantined += result.quarantined;
        for (const auto& [kind, count] : result.reports)
            total.reports[kind] += count;
    }
    // The faults must have had something to break.
    if (only == 0) {
        EXPECT_GT(total.deaths, 0);
        EXPECT_GT(total.lapses, 0);
        EXPECT_GT(total.quarantined, 0);
        for (const worker::ReportKind kind :
             {worker::ReportKind::lease_uncertain, worker::ReportKind::session_lost,
              worker::ReportKind::lease_lost, worker::ReportKind::run_abandoned,
              worker::ReportKind::orphan_adopted, worker::ReportKind::drain_forced})
            EXPECT_GT(total.reports[kind], 0) << worker::report_kind_name(kind);
    }
    for (const auto& [kind, count] : total.reports)
        RecordProperty(std::string(worker::report_kind_name(kind)), count);
    RecordProperty("steps", total.steps);
    RecordProperty("starts", total.starts);
    RecordProperty("deaths", total.deaths);
    RecordProperty("lapses", total.lapses);
}

TEST(WorkerSimulation, ASeedReplays) {
    SimPlan plan;
    plan.seed = 4711;
    const SimResult once = simulate(plan);
    const SimResult again = simulate(plan);
    EXPECT_EQ(once.steps, again.steps);
    EXPECT_EQ(once.starts, again.starts);
    EXPECT_EQ(once.deaths, again.deaths);
    EXPECT_EQ(once.lapses, again.lapses);
}

} // namespace
} // namespace deadman::sim
