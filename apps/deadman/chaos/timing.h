#pragma once
// How long it took to rescue a run, and to start its job again. Pure.
//
// rescue:  from the death of the process that held the run (kill -9), or from the end of its lease
// (a
//          pause), to the commit that made the job claimable: the lapse's finished_at.
// restart: from there to the next time that the job's handler was called.

#include <map>
#include <vector>

#include "apps/deadman/chaos/journal.h"
#include "apps/deadman/chaos/probe.h"
#include "deadman/base/time.h"

namespace deadman::chaos {

struct Death {
    int pid = 0;
    base::TimePoint at;
};

struct Rescue {
    std::int64_t job = 0;
    std::int64_t fence = 0;
    int pid = 0;         // of the process that held the run
    base::TimePoint due; // it died, or its lease ended
    base::Duration took{};
};

struct Timings {
    std::vector<Rescue> rescues;
    std::vector<base::Duration> restarts;

    std::vector<base::Duration> rescue_times() const;
};

Timings measure(const std::vector<EndedRun>& runs,
                const std::map<std::int64_t, ProbedSession>& sessions,
                const std::vector<Death>& deaths, const std::vector<JournalEntry>& journal);

struct Percentiles {
    base::Duration p50{};
    base::Duration p99{};
    base::Duration max{};
};

/// By nearest rank; zeros where there is no sample.
Percentiles percentiles(std::vector<base::Duration> samples);

} // namespace deadman::chaos
