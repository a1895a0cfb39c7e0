// The moves between the places where a job can be.

#include "deadman/store/memory/internal/model.h"

#include <algorithm>

#include "deadman/base/check.h"

namespace deadman::store::memory {

using domain::JobEvent;
using domain::JobState;

int SessionRow::held() const {
    std::size_t count = 0;
    for (const auto& [fence, lease] : leases)
        count += lease.unended.size();
    return static_cast<int>(count);
}

Model::Model(const MemoryJobStoreOptions& options, base::TimePoint now, base::SteadyTime steady)
    : options_(options), random_(options.seed) {
    tables_.tick.at = now;
    tables_.tick.steady = steady;
}

void Model::raise_sequences(std::int64_t to) {
    for (std::int64_t* last : {&tables_.last_ticket, &tables_.last_fence, &tables_.last_session})
        *last = std::max(*last, to - 1);
}

void Model::leave(JobRow& job) {
    switch (job.state) {
    case JobState::pending:
        tables_.queues.find(job.spec.queue)->second.ready.erase(job.ready);
        return;
    case JobState::scheduled:
        tables_.scheduled.erase({job.due, job.id});
        return;
    case JobState::running: {
        tables_.running.erase(job.id);
        const RunRecord& run = job.runs.back();
        const auto session = tables_.sessions.find(*run.session);
        if (session == tables_.sessions.end())
            return; // forgotten: its leases went with it
        const auto lease = session->second.leases.find(run.fence);
        DEADMAN_CHECK(lease != session->second.leases.end());
        std::erase(lease->second.unended, job.id);
        if (lease->second.unended.empty())
            session->second.leases.erase(lease);
        return;
    }
    case JobState::waiting:
        return;
    case JobState::succeeded:
    case JobState::failed:
    case JobState::cancelled:
    case JobState::expired:
        tables_.finished.erase({*job.finished_at, job.id});
        return;
    }
}

Lane Model::returned_lane(const JobRow& job) {
    return domain::is_suspect(job.blame) ? Lane::suspect : Lane::returned;
}

void Model::make_ready(JobRow& job, Lane lane, std::int64_t ticket) {
    job.state = JobState::pending;
    job.ready = ReadyKey{job.spec.priority, lane, ticket};
    tables_.queues[job.spec.queue].ready.emplace(job.ready, job.id);
    ++wakeups_;
}

void Model::return_to_ready(JobRow& job) {
    leave(job);
    make_ready(job, returned_lane(job), ++tables_.last_ticket);
}

void Model::return_after(JobRow& job, base::Duration delay, base::TimePoint now) {
    if (delay.count() == 0)
        return return_to_ready(job);
    leave(job);
    make_scheduled(job, now + delay);
}

void Model::make_scheduled(JobRow& job, base::TimePoint due) {
    job.state = JobState::scheduled;
    job.due = due;
    tables_.scheduled.emplace(due, job.id);
}

void Model::start_run(JobRow& job, domain::Fence fence, domain::SessionId session,
                      base::TimePoint now) {
    DEADMAN_CHECK(domain::next_state(job.state, JobEvent::claim) == JobState::running);
    leave(job);
    job.state = JobState::running;
    job.started = false;
    job.progress_percent = 0;
    job.progress_note.clear();
    tables_.running.insert(job.id);
    RunRow run;
    run.fence = fence;
    run.attempts_spent = job.attempts_spent;
    run.session = session;
    run.worker = tables_.sessions.at(session).spec.worker;
    run.claimed_at = now;
    job.runs.push_back(std::move(run));
}

void Model::finish(JobRow& job, JobState state, base::TimePoint now) {
    leave(job);
    job.state = state;
    job.finished_at = now;
    tables_.finished.emplace(now, job.id);
    const auto key = tables_.unique_keys.find(job.spec.unique_key);
    if (key != tables_.unique_keys.end() && key->second == job.id)
        tables_.unique_keys.erase(key);
}

} // namespace deadman::store::memory
