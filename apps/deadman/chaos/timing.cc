#include "apps/deadman/chaos/timing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace deadman::chaos {
namespace {

// A process id may be used again by a later worker: the death of a session is the first one after
// it had started.
std::optional<base::TimePoint> death_of(const ProbedSession& session,
                                        const std::vector<Death>& deaths) {
    std::optional<base::TimePoint> first;
    for (const Death& death : deaths)
        if (death.pid == session.pid && death.at >= session.started_at)
            if (!first || death.at < *first)
                first = death.at;
    return first;
}

// Whichever came first: a killed process leaves a lease that would have run on, a paused one may
// die long after its lease. Nothing where neither is known to have come before the lapse.
std::optional<base::TimePoint> lapse_due(const EndedRun& run, const ProbedSession& session,
                                         const std::vector<Death>& deaths) {
    base::TimePoint due = session.lease_until;
    if (const auto death = death_of(session, deaths))
        due = std::min(due, *death);
    if (due > run.finished_at)
        return std::nullopt;
    return due;
}

} // namespace

Timings measure(const std::vector<EndedRun>& runs,
                const std::map<std::int64_t, ProbedSession>& sessions,
                const std::vector<Death>& deaths, const std::vector<JournalEntry>& journal) {
    std::map<std::int64_t, std::set<base::TimePoint>> starts;
    for (const JournalEntry& entry : journal)
        if (entry.note == Note::starts)
            starts[entry.run.job.value].insert(entry.at);

    Timings timings;
    for (const EndedRun& run : runs) {
        if (!run.lapsed)
            continue;
        if (const auto session = sessions.find(run.session); session != sessions.end())
            if (const auto due = lapse_due(run, session->second, deaths))
                timings.rescues.push_back({.job = run.job,
                                           .fence = run.fence,
                                           .pid = session->second.pid,
                                           .due = *due,
                                           .took = run.finished_at - *due});
        const std::set<base::TimePoint>& of_job = starts[run.job];
        if (const auto next = of_job.lower_bound(run.finished_at); next != of_job.end())
            timings.restarts.push_back(*next - run.finished_at);
    }
    return timings;
}

std::vector<base::Duration> Timings::rescue_times() const {
    std::vector<base::Duration> times;
    for (const Rescue& rescue : rescues)
        times.push_back(rescue.took);
    return times;
}

Percentiles percentiles(std::vector<base::Duration> samples) {
    if (samples.empty())
        return {};
    std::sort(samples.begin(), samples.end());
    const auto at = [&samples](double share) {
        const auto rank = std::ceil(share * static_cast<double>(samples.size()));
        return samples[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
    };
    return {.p50 = at(0.5), .p99 = at(0.99), .max = samples.back()};
}

} // namespace deadman::chaos
