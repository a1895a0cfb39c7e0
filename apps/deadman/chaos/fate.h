#pragma once
// Fates: what happens to a run under chaos, drawn from (seed, job number, run number) alone. Pure.
//
// The job number counts from 0 in the order of enqueueing; the run number is 1 for a job's first
// claim and grows with each, also with those that lapsed before they had started. So the k-th run
// of the n-th job has the same fate in every run of the harness with that seed; which runs get to
// start depends on timing, and whether reluctant deaths happen on how many runs have lapsed by then
// (kill_control.h).

#include <cstdint>
#include <optional>
#include <string_view>

namespace deadman::chaos {

/// Where in a run something happens to it.
enum class Stage {
    before_effect, // in the handler, nothing written yet
    during_effect, // effect written, not committed (two-stores: marked, effect not written)
    after_effect,  // committed, the handler has not answered yet
};

std::string_view stage_name(Stage stage);

enum class FateKind {
    survives,
    dies,   // its process gets SIGKILL, and with it all other runs that the process held
    pauses, // its process gets SIGSTOP, and is woken when its lease has ended
};

struct Fate {
    FateKind kind = FateKind::survives;
    Stage stage = Stage::before_effect;
    bool reluctant = false; // dies only while fewer runs have lapsed than should have

    friend bool operator==(const Fate&, const Fate&) = default;
};

struct FatePlan {
    std::uint64_t seed = 0;
    double death = 0; // chance of a run that starts to die by its fate
    int pauses = 0;   // so many jobs, evenly spread, pause in their first run
    int jobs = 1;
};

/// With the reluctant ones deaths are so many times as likely.
inline constexpr double reluctance = 4;

Fate draw_fate(const FatePlan& plan, int job_number, int run_number);

/// The chance of death that makes about `share` of all runs lapse, where a death takes `held` runs
/// with it.
double death_chance(double share, double held);

} // namespace deadman::chaos
