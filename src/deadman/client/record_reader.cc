#include "deadman/client/internal/record_reader.h"

#include <yyjson.h>

#include "deadman/base/duration_text.h"
#include "deadman/base/time_text.h"
#include "deadman/client/internal/json_reader.h"
#include "deadman/client/internal/transport.h"
#include "deadman/domain/time_words.h"

namespace deadman::client {
namespace {

void read_place(JsonReader& in, store::JobRecord& job) {
    job.created_at = in.time("created_at");
    job.due = in.time("due");
    job.fence = in.optional_id<domain::Fence>("fence");
    job.session = in.optional_id<domain::SessionId>("session_id");
    job.worker = in.text_or_empty("worker");
    job.claimed_at = in.optional_time("claimed_at");
    job.finished_at = in.optional_time("finished_at");
    job.reason = in.text_or_empty("reason");
    job.message = in.text_or_empty("message");
    job.progress_percent = in.small("progress_percent");
    job.progress_note = in.text_or_empty("progress_note");
    const std::string_view result = in.slice("result");
    job.result = result == "null" ? std::string() : std::string(result);
}

store::JobRecord read_job(JsonReader& in) {
    store::JobRecord job;
    job.id = in.id<domain::JobId>("id");
    const auto state = domain::parse_job_state(in.text("state"));
    if (!state)
        in.note("state");
    job.state = state.value_or(domain::JobState::pending);
    job.kind = in.text("kind");
    job.queue = in.text("queue");
    job.priority = in.small("priority");
    job.payload = in.raw("payload");
    job.attempts_spent = in.small("attempts");
    job.max_attempts = in.small("max_attempts");
    const auto retry = domain::parse_retry_policy(in.text("retry"));
    if (!retry)
        in.note("retry");
    job.retry = retry.value_or(domain::RetryPolicy{});
    job.timeout = in.duration("timeout");
    job.transactional = in.boolean("transactional");
    job.unique_key = in.text_or_empty("unique_key");
    job.blame = {in.small("lapse_score"), in.small("crashes")};
    job.snoozes = in.small("snoozes");
    job.cancel_requested = in.boolean("cancel_requested");
    read_place(in, job);
    return job;
}

base::Result<store::RunRecord> read_run(std::string_view json) {
    JsonReader in(json);
    store::RunRecord run;
    run.fence = in.id<domain::Fence>("fence");
    const auto outcome = domain::parse_outcome(in.text("outcome"));
    if (!outcome)
        in.note("outcome");
    run.outcome = outcome.value_or(domain::Outcome::failed);
    run.attempts_spent = in.small("attempts");
    run.session = in.optional_id<domain::SessionId>("session_id");
    run.worker = in.text_or_empty("worker");
    run.claimed_at = in.optional_time("claimed_at");
    run.finished_at = in.optional_time("finished_at");
    run.reason = in.text_or_empty("reason");
    run.message = in.text_or_empty("message");
    DEADMAN_TRY_STATUS(in.problem());
    return run;
}

base::Result<store::QueueRecord> read_queue(std::string_view json) {
    JsonReader in(json);
    store::QueueRecord queue;
    queue.name = in.text("name");
    queue.paused = in.boolean("paused");
    queue.pending = in.number("pending");
    queue.scheduled = in.number("scheduled");
    queue.running = in.number("running");
    queue.oldest_pending = in.optional_time("oldest_pending");
    DEADMAN_TRY_STATUS(in.problem());
    return queue;
}

base::Result<store::SessionRecord> read_session(std::string_view json) {
    JsonReader in(json);
    store::SessionRecord session;
    session.id = in.id<domain::SessionId>("session_id");
    session.worker = in.text("name");
    session.host = in.text("host");
    session.pid = in.small("pid");
    session.version = in.text("version");
    session.queues = in.texts("queues");
    session.kinds = in.texts("kinds");
    session.slots = in.small("slots");
    session.running = in.small("running");
    session.held = in.small("held");
    session.started_at = in.time("started_at");
    session.renewed_at = in.time("renewed_at");
    session.lease_until = in.time("lease_until");
    session.ended_at = in.optional_time("ended_at");
    session.end_reason = in.text_or_empty("end_reason");
    DEADMAN_TRY_STATUS(in.problem());
    return session;
}

template <typename Record>
base::Result<std::vector<Record>> read_items(JsonReader& in, std::string_view name,
                                             base::Result<Record> (*read)(std::string_view)) {
    std::vector<Record> records;
    for (const std::string_view item : in.items(name)) {
        DEADMAN_TRY(Record record, read(item));
        records.push_back(std::move(record));
    }
    DEADMAN_TRY_STATUS(in.problem());
    return records;
}

base::Result<store::JobRecord> read_listed_job(std::string_view json) {
    JsonReader in(json);
    store::JobRecord job = read_job(in);
    DEADMAN_TRY_STATUS(in.problem());
    return job;
}

base::Result<store::Enqueued> read_one_enqueued(std::string_view json) {
    JsonReader in(json);
    store::Enqueued enqueued;
    enqueued.id = in.id<domain::JobId>("id");
    enqueued.is_new = in.boolean("is_new");
    enqueued.replayed = in.boolean("replayed");
    DEADMAN_TRY_STATUS(in.problem());
    return enqueued;
}

base::Result<std::string> read_warned_kind(std::string_view json) {
    JsonReader in(json);
    return in.text_or_empty("kind");
}

/// Builds one job's object. Texts of the spec outlive the document.
class SpecWriter {
  public:
    SpecWriter(yyjson_mut_doc* document, yyjson_mut_val* object)
        : document_(document), object_(object) {}

    void text(const char* name, std::string_view value) {
        yyjson_mut_obj_add_strncpy(document_, object_, name, value.data(), value.size());
    }

    void text_if_any(const char* name, std::string_view value) {
        if (!value.empty())
            text(name, value);
    }

    void raw(const char* name, std::string_view json) {
        yyjson_mut_obj_add_val(document_, object_, name,
                               yyjson_mut_rawn(document_, json.data(), json.size()));
    }

    void number(const char* name, std::int64_t value) {
        yyjson_mut_obj_add_int(document_, object_, name, value);
    }

    void boolean(const char* name, bool value) {
        yyjson_mut_obj_add_bool(document_, object_, name, value);
    }

  private:
    yyjson_mut_doc* document_;
    yyjson_mut_val* object_;
};

void write_spec(SpecWriter out, const domain::JobSpec& spec) {
    out.text("kind", spec.kind);
    out.raw("payload", spec.payload);
    out.text("queue", spec.queue);
    out.number("priority", spec.priority);
    if (spec.due)
        out.text("due", base::format_rfc3339(*spec.due));
    if (spec.delay)
        out.text("delay", base::format_duration(*spec.delay));
    out.number("max_attempts", spec.max_attempts);
    out.text("retry", domain::format_retry_policy(spec.retry));
    out.text("timeout", base::format_duration(spec.timeout));
    out.boolean("transactional", spec.transactional);
    out.text_if_any("unique_key", spec.unique_key);
    out.text_if_any("idempotency_key", spec.idempotency_key);
}

std::string range_text(const std::optional<base::TimePoint>& from,
                       const std::optional<base::TimePoint>& until) {
    return domain::format_time_range({from, until});
}

} // namespace

base::Result<JobWithRuns> read_job_with_runs(std::string_view json) {
    JsonReader in(json);
    JobWithRuns found;
    found.job = read_job(in);
    DEADMAN_TRY(found.runs, read_items(in, "runs", &read_run));
    return found;
}

base::Result<ListedJobs> read_job_page(std::string_view json) {
    JsonReader in(json);
    ListedJobs page;
    DEADMAN_TRY(page.jobs, read_items(in, "items", &read_listed_job));
    page.next_cursor = in.text_or_empty("next_cursor");
    return page;
}

base::Result<EnqueuedJobs> read_enqueued(std::string_view json) {
    JsonReader in(json);
    EnqueuedJobs enqueued;
    DEADMAN_TRY(enqueued.jobs, read_items(in, "items", &read_one_enqueued));
    DEADMAN_TRY(enqueued.unannounced_kinds, read_items(in, "warnings", &read_warned_kind));
    return enqueued;
}

base::Result<std::vector<store::QueueRecord>> read_queues(std::string_view json) {
    JsonReader in(json);
    return read_items(in, "items", &read_queue);
}

base::Result<std::vector<store::SessionRecord>> read_sessions(std::string_view json) {
    JsonReader in(json);
    return read_items(in, "items", &read_session);
}

base::Result<ServerVersion> read_version(std::string_view json) {
    JsonReader in(json);
    ServerVersion version{in.text("version"), in.text("store"), in.time("started_at")};
    DEADMAN_TRY_STATUS(in.problem());
    return version;
}

ReadProblem read_problem(std::string_view json) {
    JsonReader in(json);
    return {in.text_or_empty("code"), in.text_or_empty("detail")};
}

std::string write_batch(std::span<const domain::JobSpec> specs) {
    const std::unique_ptr<yyjson_mut_doc, decltype(&yyjson_mut_doc_free)> document(
        yyjson_mut_doc_new(nullptr), &yyjson_mut_doc_free);
    yyjson_mut_val* top = yyjson_mut_obj(document.get());
    yyjson_mut_doc_set_root(document.get(), top);
    yyjson_mut_val* jobs = yyjson_mut_obj_add_arr(document.get(), top, "jobs");
    for (const domain::JobSpec& spec : specs)
        write_spec({document.get(), yyjson_mut_arr_add_obj(document.get(), jobs)}, spec);
    std::size_t size = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        yyjson_mut_write(document.get(), 0, &size), &std::free);
    return text ? std::string(text.get(), size) : std::string();
}

std::string write_query(const store::JobFilter& filter, const std::string& cursor) {
    std::string query = "?limit=" + std::to_string(filter.limit);
    const auto add = [&query](const char* name, std::string_view value) {
        query += std::string("&") + name + "=" + percent_encoded(value);
    };
    for (const domain::JobState state : filter.states)
        add("state", domain::job_state_name(state));
    if (!filter.kind.empty())
        add("kind", filter.kind);
    if (!filter.queue.empty())
        add("queue", filter.queue);
    if (filter.finished_from || filter.finished_until)
        add("finished", range_text(filter.finished_from, filter.finished_until));
    if (filter.created_from || filter.created_until)
        add("created", range_text(filter.created_from, filter.created_until));
    if (!cursor.empty())
        add("cursor", cursor);
    return query;
}

} // namespace deadman::client
