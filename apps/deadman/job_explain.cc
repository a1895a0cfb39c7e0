#include "apps/deadman/job_explain.h"

#include <algorithm>
#include <format>

#include "apps/deadman/output.h"
#include "deadman/domain/blame.h"
#include "deadman/domain/outcome.h"

namespace deadman::cli {
namespace {

using domain::JobState;

bool serves(const store::SessionRecord& session, const std::string& queue) {
    return std::find(session.queues.begin(), session.queues.end(), queue) != session.queues.end();
}

const store::QueueRecord* find_queue(const Surroundings& around, const std::string& name) {
    const auto found = std::find_if(around.queues.begin(), around.queues.end(),
                                    [&](const auto& queue) { return queue.name == name; });
    return found == around.queues.end() ? nullptr : &*found;
}

std::string spent(const store::JobRecord& job) {
    return std::format("{} of {} attempts are spent", job.attempts_spent, job.max_attempts);
}

std::string why_and_message(const store::JobRecord& job) {
    std::string text = job.reason.empty() ? "" : " (" + job.reason + ")";
    if (!job.message.empty())
        text += ": " + cut_to(one_line(job.message), 200);
    return text;
}

void explain_pending(const store::JobRecord& job, const Surroundings& around,
                     std::vector<std::string>& lines) {
    const store::QueueRecord* queue = find_queue(around, job.queue);
    if (queue != nullptr && queue->paused)
        lines.push_back(
            std::format("Its queue '{}' is paused; `deadman queue resume {}` lets it go on.",
                        job.queue, job.queue));
    std::vector<const store::SessionRecord*> serving;
    for (const auto& session : around.sessions)
        if (is_live(session, around.now) && serves(session, job.queue))
            serving.push_back(&session);
    if (serving.empty()) {
        lines.push_back(std::format("No live worker takes jobs from the queue '{}'.", job.queue));
        return;
    }
    const bool busy = std::all_of(serving.begin(), serving.end(), [](const auto* session) {
        return session->held >= session->slots;
    });
    lines.push_back(std::format(
        "{} live worker{} take{} from the queue '{}'{}; {} job{} wait{} in it.", serving.size(),
        serving.size() == 1 ? "" : "s", serving.size() == 1 ? "s" : "", job.queue,
        busy ? ", all of them busy" : "", queue == nullptr ? 0 : queue->pending,
        queue != nullptr && queue->pending == 1 ? "" : "s",
        queue != nullptr && queue->pending == 1 ? "s" : ""));
    if (domain::is_suspect(job.blame))
        lines.emplace_back(
            "Workers died while it ran, so it waits for one that holds nothing else.");
}

void explain_scheduled(const store::JobRecord& job, const Surroundings& around,
                       const LocalTime& time, std::vector<std::string>& lines) {
    const std::string due = job.due > around.now
                                ? std::format("in {}", rough_duration(job.due - around.now))
                                : "now; it moves with the next sweep";
    if (job.attempts_spent > 0)
        lines.push_back(std::format("An attempt failed{}; {}. The next is due {} ({}).",
                                    why_and_message(job), spent(job), due, time.text(job.due)));
    else
        lines.push_back(std::format("It is due {} ({}).", due, time.text(job.due)));
}

void explain_running(const store::JobRecord& job, const Surroundings& around,
                     std::vector<std::string>& lines) {
    const auto since = job.claimed_at ? around.now - *job.claimed_at : base::Duration{};
    lines.push_back(std::format("The worker '{}' has held it for {}, under fence {}.", job.worker,
                                rough_duration(since), job.fence ? job.fence->value : 0));
    if (job.cancel_requested)
        lines.emplace_back(
            "Its cancellation is accepted: it ends as cancelled, whatever the handler "
            "answers.");
    if (job.progress_percent > 0 || !job.progress_note.empty())
        lines.push_back(std::format("Progress: {} % {}", job.progress_percent, job.progress_note));
}

void explain_failed(const store::JobRecord& job, std::vector<std::string>& lines) {
    if (job.reason == domain::reason_quarantined)
        lines.push_back(
            std::format("It is quarantined: {} workers died while they ran it and nothing "
                        "else.",
                        job.blame.crashes));
    else
        lines.push_back(std::format("It failed{}; {}.", why_and_message(job), spent(job)));
    if (job.reason == domain::reason_unknown_kind)
        lines.push_back(std::format("The worker that took it has no handler for '{}'.", job.kind));
    lines.push_back(std::format("`deadman job retry {}` starts it anew.", job.id.value));
}

} // namespace

bool is_live(const store::SessionRecord& session, base::TimePoint now) {
    return !session.ended_at && session.lease_until > now;
}

bool is_announced(const std::vector<store::SessionRecord>& sessions, std::string_view kind,
                  base::TimePoint now) {
    return std::any_of(sessions.begin(), sessions.end(), [&](const auto& session) {
        return is_live(session, now) &&
               std::find(session.kinds.begin(), session.kinds.end(), kind) != session.kinds.end();
    });
}

std::vector<std::string> explain_job(const store::JobRecord& job, const Surroundings& around,
                                     const LocalTime& time) {
    std::vector<std::string> lines;
    switch (job.state) {
    case JobState::waiting:
        lines.emplace_back("It waits for other jobs.");
        break;
    case JobState::scheduled:
        explain_scheduled(job, around, time, lines);
        break;
    case JobState::pending:
        explain_pending(job, around, lines);
        break;
    case JobState::running:
        explain_running(job, around, lines);
        break;
    case JobState::failed:
        explain_failed(job, lines);
        break;
    case JobState::succeeded:
        lines.push_back(std::format(
            "It succeeded{}.", job.worker.empty() ? "" : " on the worker '" + job.worker + "'"));
        break;
    case JobState::cancelled:
        lines.push_back(std::format("It was cancelled{}.", why_and_message(job)));
        break;
    case JobState::expired:
        lines.emplace_back("Its time to live ended before it ran.");
        break;
    }
    if (!domain::is_terminal(job.state) && job.state != JobState::running &&
        !is_announced(around.sessions, job.kind, around.now))
        lines.push_back(std::format("No live worker has a handler for '{}'.", job.kind));
    return lines;
}

std::string explain_effects(std::string_view handler) {
    if (handler == "sql")
        return "Its statement commits together with the job's end: its effect is there once.";
    if (handler == "exec")
        return "It runs as a command, so its effects may repeat when a worker dies. To prevent "
               "that "
               "the command gets DEADMAN_JOB_ID, the same in every run and so usable as an "
               "idempotency key, and DEADMAN_FENCE, which only grows: refuse a smaller one than "
               "was "
               "seen.";
    if (handler == "http")
        return "It runs as an HTTP request, so its effects may repeat when a worker dies. To "
               "prevent "
               "that the request carries an Idempotency-Key, the same in every run, and the job's "
               "fence, which only grows: refuse a smaller one than was seen.";
    return "If its handler is a command (exec) or a request (http), its effects may repeat when a "
           "worker dies; it gets a stable idempotency key and a growing fence to prevent that. "
           "Effects written in the job's own transaction are there once.";
}

} // namespace deadman::cli
