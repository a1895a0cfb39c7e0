#include "apps/deadman/bench/returning.h"

#include <algorithm>
#include <format>

#include "apps/deadman/bench/direct_drain.h"
#include "apps/deadman/bench/pacing.h"
#include "apps/deadman/bench/worker_group.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr int returning = 20; // of each sort
constexpr base::Duration backoff = 2s;
constexpr base::Duration short_lease = 2s;
constexpr base::Duration patience = 60s;

using Ids = std::vector<domain::JobId>;

Ids ids_of(const std::vector<store::Claimed>& claimed) {
    Ids ids;
    for (const store::Claimed& job : claimed)
        ids.push_back(job.run.job);
    return ids;
}

base::Result<std::vector<store::Claimed>>
take(store::JobStore& store, const store::SessionKey& session, const std::string& queue) {
    DEADMAN_TRY(auto claimed,
                store.claim(session, {.claim_no = 1, .queues = {queue}, .max = returning}));
    if (claimed.size() != returning)
        return base::fail(ErrorCode::internal, "a deep queue gave too few jobs");
    return claimed;
}

/// Their first attempts fail.
base::Result<Ids> fail_some(store::JobStore& store, const std::string& queue) {
    DEADMAN_TRY(const store::Session session, store.register_session(direct_session(queue)));
    DEADMAN_TRY(const auto claimed, take(store, session.key, queue));
    std::vector<store::RunEnd> ends;
    for (const store::Claimed& job : claimed)
        ends.push_back({.run = job.run,
                        .answer = {.kind = domain::AnswerKind::error,
                                   .reason = "error",
                                   .message = "first attempts fail",
                                   .delay = backoff}});
    DEADMAN_TRY_STATUS(store.complete(session.key, ends));
    DEADMAN_TRY_STATUS(store.end_session(session.key, "done"));
    return ids_of(claimed);
}

/// Their worker is never heard of again.
base::Result<Ids> abandon_some(store::JobStore& store, const std::string& queue) {
    store::SessionSpec spec = direct_session(queue);
    spec.terms = domain::LeaseTerms::scaled_to(short_lease);
    DEADMAN_TRY(const store::Session session, store.register_session(spec));
    DEADMAN_TRY(const auto claimed, take(store, session.key, queue));
    return ids_of(claimed);
}

/// From the end of each job's first run, and so long after, to its next start.
base::Result<Spread> waits(store::JobStore& store, const GroupReport& report, const Ids& ids,
                           base::Duration after_end) {
    std::vector<base::Duration> found;
    for (const domain::JobId id : ids) {
        const auto start = report.returns_us.find(id.value);
        DEADMAN_TRY(const auto runs, store.runs(id));
        if (start == report.returns_us.end() || runs.empty() || !runs.front().finished_at)
            return base::fail(ErrorCode::internal,
                              std::format("job {} did not come back", id.value));
        const base::TimePoint claimable = *runs.front().finished_at + after_end;
        found.push_back(std::max(base::Duration{}, base::from_micros(start->second) - claimable));
    }
    return spread_of(std::move(found));
}

} // namespace

base::Result<Returns> time_returns(const Bench& bench, const std::string& queue) {
    store::JobStore& store = bench.target.store();
    DEADMAN_TRY(const double before, lasting_bytes(bench.target));
    WorkerBrief brief;
    brief.queues = {queue};
    brief.tell_returns = true;
    DEADMAN_TRY(const auto group, WorkerGroup::start(bench.target, bench.clock, brief, 1));
    DEADMAN_TRY_STATUS(group->wait_until_ready());
    DEADMAN_TRY(const Ids failed, fail_some(store, queue));
    DEADMAN_TRY(const Ids abandoned, abandon_some(store, queue));
    const base::SteadyTime give_up = bench.clock.steady_now() + patience;
    const std::size_t all = failed.size() + abandoned.size();
    while (group->look().returns_us.size() < all && bench.clock.steady_now() < give_up) {
        bench.progress.show(
            std::format("{} of {} jobs have come back", group->look().returns_us.size(), all));
        pause_until(bench.clock, bench.clock.steady_now() + 50ms);
    }
    DEADMAN_TRY(const GroupReport report, group->finish());
    DEADMAN_TRY(const double after, lasting_bytes(bench.target));
    Returns returns;
    DEADMAN_TRY(returns.retried, waits(store, report, failed, backoff));
    DEADMAN_TRY(returns.lapsed, waits(store, report, abandoned, {}));
    if (report.ended() > 0)
        returns.bytes_a_finished_job = (after - before) / static_cast<double>(report.ended());
    return returns;
}

} // namespace deadman::bench
