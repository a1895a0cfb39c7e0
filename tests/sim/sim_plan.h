#pragma once
// What one simulated run does: everything follows from the seed and these numbers.

#include <cstdint>

#include "deadman/base/time.h"

namespace deadman::sim {

using namespace std::chrono_literals;

/// Bugs that the invariants must find. Each is planted in the store's surroundings or between a
/// core and its node, never in the product's code.
enum class Mutation {
    none,
    reaper_forgets_run,          // I1: a returned job vanishes
    reaper_never_reaps,          // I1: runs stay with the dead
    reaper_reopens_ended,        // I2: a terminal job runs again
    stale_completion_counts,     // I3: an old fence ends the new run
    ended_session_renews,        // I3: a renewal of an ended session is acknowledged
    pill_is_never_quarantined,   // I4: starts without bound
    claim_repeats_ended,         // I4: one run started twice
    core_ignores_self_fencing,   // I5: two runs that believe in their lease
    effect_outside_transaction,  // effects: written although the end was refused
    unknown_taken_for_success,   // effects: succeeded without one
    cancel_is_forgotten,         // an accepted cancel has no consequence
    claim_gives_more_than_asked, // I7: buffers without bound
};

struct SimPlan {
    std::uint64_t seed = 1;
    Mutation mutation = Mutation::none;
    int workers = 8;
    int contenders = 2;
    int jobs = 20;
    int fault_steps = 1'200; // then the faults stop
    int most_steps = 60'000;
    base::Duration calm_bound = std::chrono::hours(1); // all must be over so long after the faults
    bool trace = false;
};

} // namespace deadman::sim
