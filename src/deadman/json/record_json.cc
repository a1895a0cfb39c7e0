#include "deadman/json/record_json.h"

#include "deadman/base/duration_text.h"
#include "deadman/domain/retry_policy.h"
#include "deadman/json/json_text.h"

namespace deadman::json {
namespace {

std::string id_text(std::int64_t id) {
    return json_string(std::to_string(id));
}

template <typename Id> std::string id_or_null(const std::optional<Id>& id) {
    return id ? id_text(id->value) : "null";
}

std::string list_json(const std::vector<std::string>& texts) {
    JsonArray list;
    for (const std::string& text : texts)
        list.raw(json_string(text));
    return list.str();
}

JsonObject job_object(const store::JobRecord& job) {
    JsonObject object;
    object.raw("id", id_text(job.id.value))
        .text("state", domain::job_state_name(job.state))
        .text("kind", job.kind)
        .text("queue", job.queue)
        .number("priority", job.priority)
        .raw("payload", job.payload)
        .number("attempts", job.attempts_spent)
        .number("max_attempts", job.max_attempts)
        .text("retry", domain::format_retry_policy(job.retry))
        .text("timeout", base::format_duration(job.timeout))
        .boolean("transactional", job.transactional)
        .text_or_null("unique_key", job.unique_key)
        .number("lapse_score", job.blame.lapse_score)
        .number("crashes", job.blame.crashes)
        .number("snoozes", job.snoozes)
        .boolean("cancel_requested", job.cancel_requested)
        .time("created_at", job.created_at)
        .time("due", job.due)
        .raw("fence", id_or_null(job.fence))
        .raw("session_id", id_or_null(job.session))
        .text_or_null("worker", job.worker)
        .time("claimed_at", job.claimed_at)
        .time("finished_at", job.finished_at)
        .text_or_null("reason", job.reason)
        .text_or_null("message", job.message)
        .raw("result", job.result.empty() ? "null" : job.result)
        .number("progress_percent", job.progress_percent)
        .text_or_null("progress_note", job.progress_note);
    return object;
}

std::string run_json(const store::RunRecord& run) {
    return JsonObject()
        .raw("fence", id_text(run.fence.value))
        .text("outcome", domain::outcome_name(run.outcome))
        .number("attempts", run.attempts_spent)
        .raw("session_id", id_or_null(run.session))
        .text_or_null("worker", run.worker)
        .time("claimed_at", run.claimed_at)
        .time("finished_at", run.finished_at)
        .text_or_null("reason", run.reason)
        .text_or_null("message", run.message)
        .str();
}

} // namespace

std::string job_json(const store::JobRecord& job) {
    return job_object(job).str();
}

std::string job_json(const store::JobRecord& job, std::span<const store::RunRecord> runs) {
    JsonArray list;
    for (const store::RunRecord& run : runs)
        list.raw(run_json(run));
    return job_object(job).raw("runs", list.str()).str();
}

std::string queue_json(const store::QueueRecord& queue) {
    return JsonObject()
        .text("name", queue.name)
        .boolean("paused", queue.paused)
        .number("pending", queue.pending)
        .number("scheduled", queue.scheduled)
        .number("running", queue.running)
        .time("oldest_pending", queue.oldest_pending)
        .str();
}

std::string worker_json(const store::SessionRecord& session) {
    return JsonObject()
        .raw("session_id", id_text(session.id.value))
        .text("name", session.worker)
        .text("host", session.host)
        .number("pid", session.pid)
        .text("version", session.version)
        .raw("queues", list_json(session.queues))
        .raw("kinds", list_json(session.kinds))
        .number("slots", session.slots)
        .number("running", session.running)
        .number("held", session.held)
        .time("started_at", session.started_at)
        .time("renewed_at", session.renewed_at)
        .time("lease_until", session.lease_until)
        .time("ended_at", session.ended_at)
        .text_or_null("end_reason", session.end_reason)
        .str();
}

std::string enqueued_json(const store::Enqueued& enqueued,
                          std::span<const std::string> unannounced_kinds) {
    JsonArray warnings;
    for (const std::string& kind : unannounced_kinds)
        warnings.raw(
            JsonObject()
                .text("code", "kind_not_announced")
                .text("kind", kind)
                .text("message", "no live worker announces this kind: the job waits for one")
                .str());
    return JsonObject()
        .raw("id", id_text(enqueued.id.value))
        .boolean("is_new", enqueued.is_new)
        .boolean("replayed", enqueued.replayed)
        .raw("warnings", warnings.str())
        .str();
}

std::string page_json(std::span<const std::string> items, std::string_view next_cursor) {
    JsonArray list;
    for (const std::string& item : items)
        list.raw(item);
    return JsonObject()
        .raw("items", list.str())
        .text_or_null("next_cursor", next_cursor)
        .boolean("has_more", !next_cursor.empty())
        .str();
}

std::string jobs_json(std::span<const store::JobRecord> jobs, std::string_view next_cursor) {
    std::vector<std::string> items;
    for (const store::JobRecord& job : jobs)
        items.push_back(job_json(job));
    return page_json(items, next_cursor);
}

std::string queues_json(std::span<const store::QueueRecord> queues) {
    JsonArray list;
    for (const store::QueueRecord& queue : queues)
        list.raw(queue_json(queue));
    return JsonObject().raw("items", list.str()).str();
}

std::string workers_json(std::span<const store::SessionRecord> workers) {
    JsonArray list;
    for (const store::SessionRecord& worker : workers)
        list.raw(worker_json(worker));
    return JsonObject().raw("items", list.str()).str();
}

} // namespace deadman::json
