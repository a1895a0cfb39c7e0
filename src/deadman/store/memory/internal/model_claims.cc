#include <algorithm>
#include <limits>
#include <set>

#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

using base::ErrorCode;

namespace {

// Of a claim's places at one priority, returned work takes at most three of four while new work
// waits.
int returned_share(int places) {
    return places - places / 4;
}

// Numbers so far behind the newest cannot be in flight any more.
constexpr std::int64_t remembered_claim_numbers = 4'096;

using ReadyPosition = std::map<ReadyKey, domain::JobId>::const_iterator;

struct LaneRange {
    ReadyPosition at;
    ReadyPosition end;

    bool empty() const {
        return at == end;
    }

    void take(std::vector<domain::JobId>& chosen) {
        chosen.push_back(at->second);
        ++at;
    }
};

LaneRange lane_range(const QueueRow& queue, int priority, Lane lane) {
    constexpr auto first = std::numeric_limits<std::int64_t>::min();
    constexpr auto last = std::numeric_limits<std::int64_t>::max();
    return {queue.ready.lower_bound({priority, lane, first}),
            queue.ready.upper_bound({priority, lane, last})};
}

void choose_from(const QueueRow& queue, int priority, std::size_t max,
                 std::vector<domain::JobId>& chosen) {
    LaneRange returned = lane_range(queue, priority, Lane::returned);
    LaneRange fresh = lane_range(queue, priority, Lane::fresh);
    int share = returned_share(static_cast<int>(max - chosen.size()));
    for (; share > 0 && !returned.empty(); --share)
        returned.take(chosen);
    while (chosen.size() < max && !fresh.empty())
        fresh.take(chosen);
    while (chosen.size() < max && !returned.empty())
        returned.take(chosen);
}

} // namespace

std::vector<domain::JobId> Model::choose(const ClaimRequest& request) const {
    std::vector<const QueueRow*> open;
    std::set<std::string> seen; // a queue named twice is looked at once
    for (const std::string& name : request.queues) {
        const auto queue = tables_.queues.find(name);
        if (queue != tables_.queues.end() && !queue->second.paused && seen.insert(name).second)
            open.push_back(&queue->second);
    }
    std::vector<domain::JobId> chosen;
    for (int priority = 0; priority <= domain::max_priority; ++priority)
        for (const QueueRow* queue : open)
            choose_from(*queue, priority, static_cast<std::size_t>(request.max), chosen);
    return chosen;
}

domain::JobId Model::choose_suspect(const ClaimRequest& request) const {
    for (int priority = 0; priority <= domain::max_priority; ++priority) {
        for (const std::string& name : request.queues) {
            const auto queue = tables_.queues.find(name);
            if (queue == tables_.queues.end() || queue->second.paused)
                continue;
            const LaneRange suspects = lane_range(queue->second, priority, Lane::suspect);
            if (!suspects.empty())
                return suspects.at->second;
        }
    }
    return {};
}

base::Result<std::vector<Claimed>> Model::claim(const SessionKey& session,
                                                const ClaimRequest& request, base::TimePoint now) {
    SessionRow* row = live_session(session);
    if (row == nullptr)
        return base::fail(ErrorCode::fenced, "the session has ended");
    if (request.max < 1)
        return base::fail(ErrorCode::invalid_argument, "max: must be at least 1");
    if (row->claim_numbers.contains(request.claim_no))
        return base::fail(ErrorCode::conflict,
                          "claim " + std::to_string(request.claim_no) + " has been made before");

    std::vector<domain::JobId> chosen;
    if (!request.suspect)
        chosen = choose(request);
    else if (row->leases.empty()) // a suspect runs alone in its process (PROTOCOL C5)
        if (const domain::JobId suspect = choose_suspect(request); suspect.value != 0)
            chosen.push_back(suspect);
    if (chosen.empty())
        return std::vector<Claimed>{};

    row->claim_numbers.insert(request.claim_no);
    row->claim_numbers.erase(
        row->claim_numbers.begin(),
        row->claim_numbers.lower_bound(*row->claim_numbers.rbegin() - remembered_claim_numbers));
    std::vector<Claimed> claimed;
    domain::Fence shared;
    for (const domain::JobId id : chosen) {
        JobRow& job = tables_.jobs.at(id);
        const bool solo = job.spec.transactional || request.suspect;
        if (solo || shared.value == 0) {
            const domain::Fence fence{++tables_.last_fence};
            row->leases[fence] = {.claim_no = request.claim_no, .solo = solo, .unended = {}};
            if (!solo)
                shared = fence;
        }
        const domain::Fence fence = solo ? domain::Fence{tables_.last_fence} : shared;
        start_run(job, fence, session.id, now);
        row->leases.at(fence).unended.push_back(id);
        claimed.push_back(describe(job, fence, solo));
    }
    return claimed;
}

Claimed Model::describe(const JobRow& job, domain::Fence fence, bool solo) const {
    Claimed claimed;
    claimed.run = {job.id, fence};
    claimed.solo = solo;
    claimed.kind = job.spec.kind;
    claimed.queue = job.spec.queue;
    claimed.payload = job.spec.payload;
    claimed.attempts_spent = job.attempts_spent;
    claimed.max_attempts = job.spec.max_attempts;
    claimed.retry = job.spec.retry;
    claimed.timeout = job.spec.timeout;
    claimed.blame = job.blame;
    claimed.claimed_at = *job.runs.back().claimed_at;
    return claimed;
}

base::Result<std::vector<Claimed>> Model::claim_result(const SessionKey& session,
                                                       std::int64_t claim_no) const {
    const SessionRow* row = live_session(session);
    if (row == nullptr)
        return base::fail(ErrorCode::fenced, "the session has ended");
    std::vector<Claimed> claimed;
    for (const auto& [fence, lease] : row->leases)
        if (lease.claim_no == claim_no)
            for (const domain::JobId id : lease.unended)
                claimed.push_back(describe(tables_.jobs.at(id), fence, lease.solo));
    return claimed;
}

bool Model::has_ready(std::span<const std::string> queues, Lane last) const {
    return std::ranges::any_of(queues, [&](const std::string& name) {
        const auto queue = tables_.queues.find(name);
        if (queue == tables_.queues.end() || queue->second.paused)
            return false;
        return std::ranges::any_of(queue->second.ready,
                                   [&](const auto& entry) { return entry.first.lane <= last; });
    });
}

} // namespace deadman::store::memory
