#include "deadman/store/sqlite/internal/enqueue.h"

#include <set>
#include <string>
#include <string_view>

#include "deadman/store/sqlite/internal/moves.h"

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;
using domain::JobSpec;

base::Status check_spec(const JobSpec& spec, const domain::PayloadLimits& limits,
                        base::TimePoint now) {
    DEADMAN_TRY_STATUS(domain::validate_spec(spec));
    DEADMAN_TRY_STATUS(domain::validate_payload(spec.payload, limits));
    if (spec.delay && *spec.delay > domain::latest_time - now)
        return base::fail(ErrorCode::invalid_argument, "delay: ends after the year 9999");
    return {};
}

std::int64_t due_of(const JobSpec& spec, base::TimePoint now) {
    if (spec.due)
        return base::to_micros(*spec.due);
    return base::to_micros(now + spec.delay.value_or(base::Duration{}));
}

/// The first enqueue under an idempotency key that is still remembered.
struct EarlierRequest {
    std::string fingerprint;
    domain::JobId job;
};

std::optional<EarlierRequest> earlier_request(WriteContext& context, const JobSpec& spec) {
    Cursor row = context.db.query("SELECT fingerprint, job FROM deadman_idempotency_key "
                                  "WHERE key = ?1 AND used_at > ?2",
                                  spec.idempotency_key,
                                  base::to_micros(context.now - domain::idempotency_key_life));
    if (!row.next())
        return std::nullopt;
    return EarlierRequest{row.text(0), domain::JobId{row.integer(1)}};
}

std::optional<domain::JobId> holder_of_unique_key(WriteContext& context, const JobSpec& spec) {
    if (spec.unique_key.empty())
        return std::nullopt;
    Cursor row =
        context.db.query("SELECT job FROM deadman_unique_key WHERE key = ?1", spec.unique_key);
    if (!row.next())
        return std::nullopt;
    return domain::JobId{row.integer(0)};
}

void remember_request(WriteContext& context, const JobSpec& spec, domain::JobId job) {
    if (!spec.idempotency_key.empty())
        context.db.run("INSERT OR REPLACE INTO deadman_idempotency_key (key, fingerprint, job, "
                       "used_at) VALUES (?1, ?2, ?3, ?4)",
                       spec.idempotency_key, domain::fingerprint(spec), job.value,
                       base::to_micros(context.now));
}

void insert_job(WriteContext& context, const JobSpec& spec, domain::JobId id) {
    context.db.run(
        "INSERT INTO deadman_job (id, kind, queue, priority, max_attempts, retry_kind, "
        "retry_base, retry_cap, retry_jitter, timeout, transactional, unique_key, created_at, "
        "payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        id.value, spec.kind, spec.queue, spec.priority, spec.max_attempts,
        static_cast<int>(spec.retry.kind), spec.retry.base.count(), spec.retry.cap.count(),
        spec.retry.jitter, spec.timeout.count(), spec.transactional, spec.unique_key,
        base::to_micros(context.now), spec.payload);
    if (!spec.unique_key.empty())
        context.db.run("INSERT INTO deadman_unique_key (key, job) VALUES (?1, ?2)", spec.unique_key,
                       id.value);
}

void place_new_job(WriteContext& context, const JobSpec& spec, domain::JobId id) {
    const std::int64_t due = due_of(spec, context.now);
    if (due > base::to_micros(context.now)) {
        make_later(context, id, lane_new, {.due = due});
        return;
    }
    context.db.run("INSERT INTO deadman_ready (queue, priority, lane, ticket, id, attempts, "
                   "lapse_score, crashes, snoozes, due) VALUES (?1, ?2, 1, ?3, ?3, 0, 0, 0, 0, ?4)",
                   spec.queue, spec.priority, id.value, due);
    context.made_work = true;
}

base::Result<Enqueued> enqueue_one(WriteContext& context, const JobSpec& spec, domain::JobId id) {
    if (!spec.idempotency_key.empty()) {
        if (const auto earlier = earlier_request(context, spec)) {
            if (earlier->fingerprint != domain::fingerprint(spec))
                return base::fail(ErrorCode::conflict, "idempotency key '" + spec.idempotency_key +
                                                           "' was used for another request");
            return Enqueued{.id = earlier->job, .is_new = false, .replayed = true};
        }
    }
    if (const auto holder = holder_of_unique_key(context, spec)) {
        remember_request(context, spec, *holder);
        return Enqueued{.id = *holder, .is_new = false};
    }
    remember_request(context, spec, id);
    insert_job(context, spec, id);
    place_new_job(context, spec, id);
    return Enqueued{.id = id};
}

void make_queues_known(WriteContext& context, std::span<const JobSpec> specs) {
    std::set<std::string_view> names;
    for (const JobSpec& spec : specs)
        if (names.insert(spec.queue).second)
            context.db.run("INSERT OR IGNORE INTO deadman_queue (name) VALUES (?1)", spec.queue);
}

} // namespace

base::Status check_specs(std::span<const JobSpec> specs, const domain::PayloadLimits& limits,
                         base::TimePoint now) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
        base::Status checked = check_spec(specs[i], limits, now);
        if (checked)
            continue;
        base::Error error = std::move(checked).error();
        if (specs.size() > 1)
            error.message = "job " + std::to_string(i) + ": " + error.message;
        return error;
    }
    return {};
}

base::Result<std::vector<Enqueued>> enqueue_jobs(WriteContext& context,
                                                 std::span<const JobSpec> specs) {
    std::vector<Enqueued> answers;
    answers.reserve(specs.size());
    if (specs.empty())
        return answers;
    // A spec that turns out to be a repeat leaves its number unused.
    std::int64_t id = next_numbers(context, "ticket", static_cast<std::int64_t>(specs.size()));
    make_queues_known(context, specs);
    for (const JobSpec& spec : specs) {
        DEADMAN_TRY(Enqueued answer, enqueue_one(context, spec, domain::JobId{id++}));
        answers.push_back(answer);
    }
    return answers;
}

} // namespace deadman::store::sqlite
