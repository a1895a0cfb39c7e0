#include <algorithm>
#include <map>

#include "deadman/domain/payload.h"
#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

using base::ErrorCode;

namespace {

base::Status check_spec(const domain::JobSpec& spec, std::size_t max_payload_bytes,
                        base::TimePoint now) {
    DEADMAN_TRY_STATUS(domain::validate_spec(spec));
    DEADMAN_TRY_STATUS(domain::validate_payload(spec.payload, {.max_bytes = max_payload_bytes}));
    if (spec.delay && *spec.delay > domain::latest_time - now)
        return base::fail(ErrorCode::invalid_argument, "delay: ends after the year 9999");
    return {};
}

base::TimePoint due_of(const domain::JobSpec& spec, base::TimePoint now) {
    if (spec.due)
        return *spec.due;
    return now + spec.delay.value_or(base::Duration{});
}

} // namespace

const IdempotencyRow* Model::live_idempotency_row(const std::string& key,
                                                  base::TimePoint now) const {
    const auto row = tables_.idempotency_keys.find(key);
    if (row == tables_.idempotency_keys.end() ||
        row->second.used_at + domain::idempotency_key_life <= now)
        return nullptr;
    return &row->second;
}

base::Status Model::check_idempotency(std::span<const domain::JobSpec> specs,
                                      base::TimePoint now) const {
    std::map<std::string, std::string> in_this_call;
    for (const domain::JobSpec& spec : specs) {
        const std::string& key = spec.idempotency_key;
        if (key.empty())
            continue;
        const std::string print = domain::fingerprint(spec);
        const IdempotencyRow* row = live_idempotency_row(key, now);
        const std::string& first =
            row != nullptr ? row->fingerprint : in_this_call.emplace(key, print).first->second;
        if (first != print)
            return base::fail(ErrorCode::conflict,
                              "idempotency key '" + key + "' was used for another request");
    }
    return {};
}

base::Result<std::vector<Enqueued>> Model::enqueue(std::span<const domain::JobSpec> specs,
                                                   base::TimePoint now) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (auto checked = check_spec(specs[i], options_.max_payload_bytes, now); !checked) {
            base::Error error = std::move(checked).error();
            if (specs.size() > 1)
                error.message = "job " + std::to_string(i) + ": " + error.message;
            return error;
        }
    }
    DEADMAN_TRY_STATUS(check_idempotency(specs, now));
    std::vector<Enqueued> answers;
    answers.reserve(specs.size());
    for (const domain::JobSpec& spec : specs)
        answers.push_back(enqueue_one(spec, now));
    return answers;
}

Enqueued Model::enqueue_one(const domain::JobSpec& spec, base::TimePoint now) {
    if (const IdempotencyRow* row = live_idempotency_row(spec.idempotency_key, now);
        row != nullptr && !spec.idempotency_key.empty())
        return {.id = row->job, .is_new = false, .replayed = true};

    const auto holder = tables_.unique_keys.find(spec.unique_key);
    const bool taken = !spec.unique_key.empty() && holder != tables_.unique_keys.end();
    const domain::JobId id = taken ? holder->second : domain::JobId{++tables_.last_ticket};
    if (!spec.idempotency_key.empty())
        tables_.idempotency_keys[spec.idempotency_key] = {domain::fingerprint(spec), id, now};
    if (taken)
        return {.id = id, .is_new = false};

    if (!spec.unique_key.empty())
        tables_.unique_keys.emplace(spec.unique_key, id);
    JobRow& job = tables_.jobs[id];
    job.id = id;
    job.spec = spec;
    job.created_at = now;
    job.due = due_of(spec, now);
    tables_.queues[spec.queue]; // it exists from its first job on
    if (job.due > now)
        make_scheduled(job, job.due);
    else
        make_ready(job, Lane::fresh, id.value);
    return {.id = id};
}

} // namespace deadman::store::memory
