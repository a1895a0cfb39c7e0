#pragma once
// Steers the share of runs that lapse towards the one asked for. Pure.
//
// What is steered: lapsed runs / all ended runs. Fates alone cannot hit it, because a death takes
// with it whatever the process held at that moment, started or only claimed. So fates are drawn for
// a part of it, and the parent's own kills, at random times, fill up to it; while it is passed
// fates are spared, and while it is missed the reluctant ones are carried out too.

#include <cstdint>

namespace deadman::chaos {

/// What the harness sees at a moment.
struct RunCounts {
    std::int64_t succeeded = 0;
    std::int64_t ended = 0;   // runs, by any outcome
    std::int64_t lapsed = 0;  // ... by the reaper
    std::int64_t doomed = 0;  // runs held by processes that are dead or stopped: they will lapse
    std::int64_t at_risk = 0; // runs held by the others ...
    int alive = 0;            // ... and how many those are
};

/// How many workers the parent should kill now.
int kills_wanted(double share, std::int64_t jobs, const RunCounts& counts);

/// Fates of death are to be carried out.
bool fates_armed(double share, const RunCounts& counts);

/// ... the reluctant ones too, and the work goes slower until they have been.
bool fates_hurried(double share, const RunCounts& counts);

} // namespace deadman::chaos
