#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

using base::ErrorCode;
using domain::JobState;

CancelAnswer Model::cancel(domain::JobId id, base::TimePoint now) {
    const auto found = tables_.jobs.find(id);
    if (found == tables_.jobs.end())
        return CancelAnswer::not_found;
    JobRow& job = found->second;
    if (domain::is_terminal(job.state))
        return CancelAnswer::already_finished;
    if (job.state == JobState::running) {
        job.cancel_requested = true;
        return CancelAnswer::requested;
    }
    job.reason = "cancelled";
    finish(job, JobState::cancelled, now);
    return CancelAnswer::cancelled;
}

base::Status Model::retry(domain::JobId id, base::TimePoint now) {
    const auto found = tables_.jobs.find(id);
    if (found == tables_.jobs.end())
        return base::fail(ErrorCode::not_found, "no such job");
    JobRow& job = found->second;
    if (domain::next_state(job.state, domain::JobEvent::operator_retry) != JobState::pending)
        return base::fail(ErrorCode::conflict, "the job is " +
                                                   std::string(domain::job_state_name(job.state)) +
                                                   ": only failed, cancelled and expired jobs "
                                                   "can be retried");
    if (!job.spec.unique_key.empty() &&
        !tables_.unique_keys.emplace(job.spec.unique_key, id).second)
        return base::fail(ErrorCode::conflict, "another job holds its unique key");
    leave(job);
    job.attempts_spent = 0;
    job.blame = {};
    job.snoozes = 0;
    job.cancel_requested = false;
    job.finished_at.reset();
    job.reason.clear();
    job.due = now;
    make_ready(job, Lane::returned, ++tables_.last_ticket);
    return {};
}

base::Status Model::remove(domain::JobId id) {
    const auto found = tables_.jobs.find(id);
    if (found == tables_.jobs.end())
        return base::fail(ErrorCode::not_found, "no such job");
    if (!domain::is_terminal(found->second.state))
        return base::fail(ErrorCode::conflict, "the job has not finished");
    forget_job(id);
    return {};
}

void Model::forget_job(domain::JobId id) {
    leave(tables_.jobs.at(id));
    tables_.jobs.erase(id);
}

void Model::set_paused(std::string_view queue, bool paused) {
    const auto found = tables_.queues.find(queue);
    QueueRow& row =
        found != tables_.queues.end() ? found->second : tables_.queues[std::string(queue)];
    row.paused = paused;
    ++wakeups_;
}

} // namespace deadman::store::memory
