#include "deadman/http/record_json.h"

#include "deadman/http/internal/json_writer.h"

namespace deadman::http {
namespace {

void fill_spec(JsonObject& out, const store::JobRecord& job) {
    out.id("id", job.id)
        .text("state", domain::job_state_name(job.state))
        .text("kind", job.kind)
        .text("queue", job.queue)
        .number("priority", job.priority)
        .raw("payload", job.payload)
        .number("attempts", job.attempts_spent)
        .number("max_attempts", job.max_attempts)
        .text("retry", domain::format_retry_policy(job.retry))
        .duration("timeout", job.timeout)
        .boolean("transactional", job.transactional)
        .text_or_null("unique_key", job.unique_key);
}

void fill(JsonObject out, const store::JobRecord& job) {
    fill_spec(out, job);
    out.number("lapse_score", job.blame.lapse_score)
        .number("crashes", job.blame.crashes)
        .number("snoozes", job.snoozes)
        .boolean("cancel_requested", job.cancel_requested)
        .time("created_at", job.created_at)
        .time("due", job.due)
        .id("fence", job.fence)
        .id("session_id", job.session)
        .text_or_null("worker", job.worker)
        .time("claimed_at", job.claimed_at)
        .time("finished_at", job.finished_at)
        .text_or_null("reason", job.reason)
        .text_or_null("message", job.message)
        .raw("result", job.result)
        .number("progress_percent", job.progress_percent)
        .text_or_null("progress_note", job.progress_note);
}

void fill(JsonObject out, const store::RunRecord& run) {
    out.id("fence", run.fence)
        .text("outcome", domain::outcome_name(run.outcome))
        .number("attempts", run.attempts_spent)
        .id("session_id", run.session)
        .text_or_null("worker", run.worker)
        .time("claimed_at", run.claimed_at)
        .time("finished_at", run.finished_at)
        .text_or_null("reason", run.reason)
        .text_or_null("message", run.message);
}

void fill(JsonObject out, const store::QueueRecord& queue) {
    out.text("name", queue.name)
        .boolean("paused", queue.paused)
        .number("pending", queue.pending)
        .number("scheduled", queue.scheduled)
        .number("running", queue.running)
        .time("oldest_pending", queue.oldest_pending);
}

void fill(JsonObject out, const store::SessionRecord& worker) {
    out.id("session_id", worker.id)
        .text("name", worker.worker)
        .text("host", worker.host)
        .number("pid", worker.pid)
        .text("version", worker.version)
        .texts("queues", worker.queues)
        .texts("kinds", worker.kinds)
        .number("slots", worker.slots)
        .number("running", worker.running)
        .number("held", worker.held)
        .time("started_at", worker.started_at)
        .time("renewed_at", worker.renewed_at)
        .time("lease_until", worker.lease_until)
        .time("ended_at", worker.ended_at)
        .text_or_null("end_reason", worker.end_reason);
}

template <typename Record> std::string one(const Record& record) {
    JsonText text;
    fill(text.top(), record);
    return text.str();
}

template <typename Record> std::string list(std::span<const Record> records) {
    JsonText text;
    JsonArray items = text.top().array("items");
    for (const Record& record : records)
        fill(items.object(), record);
    return text.str();
}

} // namespace

std::string job_json(const store::JobRecord& job) {
    return one(job);
}

std::string job_json(const store::JobRecord& job, std::span<const store::RunRecord> runs) {
    JsonText text;
    fill(text.top(), job);
    JsonArray list = text.top().array("runs");
    for (const store::RunRecord& run : runs)
        fill(list.object(), run);
    return text.str();
}

std::string jobs_json(std::span<const store::JobRecord> jobs,
                      const std::optional<std::string>& next_cursor) {
    JsonText text;
    JsonObject top = text.top();
    JsonArray items = top.array("items");
    for (const store::JobRecord& job : jobs)
        fill(items.object(), job);
    top.text_or_null("next_cursor", next_cursor.value_or(std::string()));
    top.boolean("has_more", next_cursor.has_value());
    return text.str();
}

std::string queue_json(const store::QueueRecord& queue) {
    return one(queue);
}

std::string queues_json(std::span<const store::QueueRecord> queues) {
    return list(queues);
}

std::string worker_json(const store::SessionRecord& worker) {
    return one(worker);
}

std::string workers_json(std::span<const store::SessionRecord> workers) {
    return list(workers);
}

} // namespace deadman::http
