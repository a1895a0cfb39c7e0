#pragma once
// The report of a run of the harness: one JSON object, and a line for people.

#include <cstdint>
#include <string>

#include "apps/deadman/chaos/timing.h"
#include "apps/deadman/chaos/verdict.h"
#include "deadman/base/time.h"

namespace deadman::chaos {

/// How far the share of lapsed runs may be from the one asked for: 0.05, and more where there are
/// too few runs to hit it.
double share_tolerance(std::int64_t runs);

struct Report {
    std::string store;
    std::string guard;
    std::uint64_t seed = 0;
    double kill_rate = 0;
    base::Duration lease{};
    int workers = 0;
    int slots = 0;
    std::int64_t jobs = 0;
    std::int64_t max_crashes = 0;
    Verdict verdict;

    std::int64_t runs = 0; // ended ones
    std::int64_t lapsed = 0;
    std::int64_t released = 0;
    std::int64_t kills = 0;             // worker processes that got SIGKILL ...
    std::int64_t kills_by_fate = 0;     // ... of these from within, by a run's fate
    std::int64_t pauses = 0;            // processes stopped past their lease and woken
    std::int64_t pauses_in_handler = 0; // ... by the stage of the run that stopped them
    std::int64_t pauses_in_transaction = 0;
    std::int64_t pauses_before_answer = 0;
    std::int64_t exits = 0;   // workers that left by themselves (self-fencing)
    std::int64_t fenced = 0;  // ends or effects refused because the run was not theirs any more
    base::Duration blocked{}; // how long a paused worker held the store's only write lock
    Timings timings;
    base::Duration elapsed{};
    bool timed_out = false;

    /// Lapsed runs of all ended ones.
    double share() const;
    bool share_is_right() const;

    /// Nothing lost, nothing doubled, all ended, and as much killed as was asked for.
    bool ok() const;
};

std::string to_json(const Report& report);

/// "2000 succeeded, 2000 effects, 0 lost, 0 duplicated, 163 workers killed"
std::string summary_line(const Report& report);

} // namespace deadman::chaos
