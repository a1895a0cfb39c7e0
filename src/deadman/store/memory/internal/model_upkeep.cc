// Leadership and the sweep: tick, reap, promote, prune (PROTOCOL S1, S3, E2).

#include <algorithm>

#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

namespace {

// How long an ended session is still shown, and known when its late answers arrive.
constexpr base::Duration ended_session_life = std::chrono::hours(1);

// A leader that has not swept for this long has stopped: another may lead.
base::Duration leader_life(const domain::LeaseTerms& terms) {
    return std::max(domain::outage_gap(terms), 3 * terms.sweep);
}

base::Duration magnitude(base::Duration duration) {
    return duration < base::Duration{} ? -duration : duration;
}

} // namespace

std::int64_t Model::try_lead(base::SteadyTime steady) {
    LeaderRow& leader = tables_.leader;
    if (leader.term != 0 && steady < leader.until)
        return 0;
    leader = {++tables_.last_term, steady + leader_life({})};
    return leader.term;
}

void Model::give_up(std::int64_t term) {
    if (tables_.leader.term == term)
        tables_.leader.term = 0;
}

UpkeepReport Model::sweep(std::int64_t term, const UpkeepRequest& request, base::TimePoint now,
                          base::SteadyTime steady) {
    UpkeepReport report;
    report.still_leader = tables_.leader.term == term;
    if (!report.still_leader)
        return report;
    tables_.leader.until = steady + leader_life(request.terms);
    report.grace = observe_tick(request, now, steady);
    if (!report.grace)
        reap(request, now, report);
    reap_orphans(request, now, report);
    promote(now, report);
    prune(request, now, report);
    return report;
}

// After an outage or a clock step every lease looks past due, and proves nothing: everybody gets
// one full lease to renew.
bool Model::observe_tick(const UpkeepRequest& request, base::TimePoint now,
                         base::SteadyTime steady) {
    TickRow& tick = tables_.tick;
    const base::Duration wall_passed = now - tick.at;
    const base::Duration steady_passed = steady - tick.steady;
    const base::Duration gap = domain::outage_gap(request.terms);
    const bool outage =
        wall_passed > gap || steady_passed > gap || magnitude(wall_passed - steady_passed) > gap;
    tick.at = now;
    tick.steady = steady;
    if (outage && options_.detect_outages) {
        base::Duration lease = request.terms.lease;
        for (auto& [id, session] : tables_.sessions) {
            if (session.ended_at)
                continue;
            lease = std::max(lease, session.spec.terms.lease);
            // A clock that was set back must not keep the dead alive for as long as it was set
            // back.
            session.renewed_at = std::min(session.renewed_at, now - base::Duration(1));
        }
        tick.grace_from = now;
        tick.grace_until = now + lease;
    }
    return now < tick.grace_until;
}

void Model::reap(const UpkeepRequest& request, base::TimePoint now, UpkeepReport& report) {
    std::vector<domain::SessionId> lapsed;
    for (const auto& [id, session] : tables_.sessions)
        if (!session.ended_at && session.lease_until() < now)
            lapsed.push_back(id);
    for (const domain::SessionId id : lapsed) {
        // Not heard of since the outage: whether its jobs or the outage ended it, nobody can tell.
        const auto& grace_from = tables_.tick.grace_from;
        const bool counts = !grace_from || tables_.sessions.at(id).renewed_at >= *grace_from;
        close_session(id, counts, "lapsed", request.crash, now, report);
        ++report.sessions_lapsed;
    }
}

// A run whose session is not on record at all counts as lapsed.
void Model::reap_orphans(const UpkeepRequest& request, base::TimePoint now, UpkeepReport& report) {
    std::vector<domain::JobId> orphans;
    for (const domain::JobId id : tables_.running)
        if (!tables_.sessions.contains(*tables_.jobs.at(id).runs.back().session))
            orphans.push_back(id);
    for (const domain::JobId id : orphans) {
        JobRow& job = tables_.jobs.at(id);
        lapse(job, {.counts = true, .named_started = job.started, .alone = false}, request.crash,
              now, report);
    }
}

void Model::promote(base::TimePoint now, UpkeepReport& report) {
    while (!tables_.scheduled.empty() && tables_.scheduled.begin()->first <= now) {
        JobRow& job = tables_.jobs.at(tables_.scheduled.begin()->second);
        const Lane lane = job.runs.empty() ? Lane::fresh : returned_lane(job);
        leave(job);
        make_ready(job, lane, ++tables_.last_ticket);
        ++report.promoted;
    }
}

void Model::prune(const UpkeepRequest& request, base::TimePoint now, UpkeepReport& report) {
    while (!tables_.finished.empty() &&
           tables_.finished.begin()->first + request.retention <= now) {
        forget_job(tables_.finished.begin()->second);
        ++report.pruned;
    }
    std::erase_if(tables_.idempotency_keys, [&](const auto& entry) {
        return entry.second.used_at + domain::idempotency_key_life <= now;
    });
    std::erase_if(tables_.sessions, [&](const auto& entry) {
        return entry.second.ended_at && *entry.second.ended_at + ended_session_life <= now;
    });
}

} // namespace deadman::store::memory
