#include "deadman/base/check.h"
#include "deadman/domain/payload.h"
#include "deadman/store/postgres/internal/array_text.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {
namespace {

const Statement enqueue_batch{"enqueue_batch", "select * from deadman.enqueue_batch($1, $2, $3, "
                                               "$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"};

/// A column per field: one statement carries the whole batch.
struct Columns {
    ArrayText kinds, payloads, queues, priorities, dues, delays, attempts, retries, timeouts,
        transactionals, unique_keys, idempotency_keys, fingerprints;
    bool has_unique_keys = false;
    bool has_idempotency_keys = false;

    void add(const domain::JobSpec& spec);
};

void add_optional(ArrayText& column, const std::optional<std::int64_t>& value) {
    value ? column.add(*value) : column.add_null();
}

void Columns::add(const domain::JobSpec& spec) {
    kinds.add(spec.kind);
    payloads.add(spec.payload);
    queues.add(spec.queue);
    priorities.add(spec.priority);
    add_optional(dues, spec.due ? std::optional(base::to_micros(*spec.due)) : std::nullopt);
    add_optional(delays, spec.delay ? std::optional(spec.delay->count()) : std::nullopt);
    attempts.add(spec.max_attempts);
    retries.add_or_null(spec.retry == domain::RetryPolicy{}
                            ? std::string{}
                            : domain::format_retry_policy(spec.retry));
    timeouts.add(spec.timeout.count());
    transactionals.add(spec.transactional);
    unique_keys.add_or_null(spec.unique_key);
    idempotency_keys.add_or_null(spec.idempotency_key);
    fingerprints.add_or_null(spec.idempotency_key.empty() ? std::string{}
                                                          : domain::fingerprint(spec));
    has_unique_keys = has_unique_keys || !spec.unique_key.empty();
    has_idempotency_keys = has_idempotency_keys || !spec.idempotency_key.empty();
}

pqxx::params parameters_of(Columns& columns) {
    std::optional<std::string> unique_keys;
    std::optional<std::string> idempotency_keys;
    if (columns.has_unique_keys)
        unique_keys = columns.unique_keys.take();
    if (columns.has_idempotency_keys)
        idempotency_keys = columns.idempotency_keys.take();
    const auto key_life =
        std::chrono::duration_cast<std::chrono::seconds>(domain::idempotency_key_life);
    return pqxx::params{columns.kinds.take(),
                        columns.payloads.take(),
                        columns.queues.take(),
                        columns.priorities.take(),
                        columns.dues.take(),
                        columns.delays.take(),
                        columns.attempts.take(),
                        columns.retries.take(),
                        columns.timeouts.take(),
                        columns.transactionals.take(),
                        unique_keys,
                        idempotency_keys,
                        columns.fingerprints.take(),
                        std::to_string(key_life.count()) + " seconds"};
}

} // namespace

base::Status Store::check_spec(const domain::JobSpec& spec) const {
    DEADMAN_TRY_STATUS(domain::validate_spec(spec));
    return domain::validate_payload(spec.payload, {.max_bytes = options_.max_payload_bytes});
}

base::Result<std::vector<Enqueued>> Store::enqueue(std::span<const domain::JobSpec> specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (auto checked = check_spec(specs[i]); !checked) {
            base::Error error = std::move(checked).error();
            if (specs.size() > 1)
                error.message = "job " + std::to_string(i) + ": " + error.message;
            return error;
        }
    }
    if (specs.empty())
        return std::vector<Enqueued>{};
    return enqueue_group_.enqueue(specs);
}

base::Result<std::vector<Enqueued>>
Store::enqueue_together(std::span<const EnqueueGroup::Specs> calls) {
    Columns columns;
    std::size_t jobs = 0;
    for (const EnqueueGroup::Specs& specs : calls) {
        jobs += specs.size();
        for (const domain::JobSpec& spec : specs)
            columns.add(spec);
    }
    DEADMAN_TRY(const pqxx::result answers,
                query(enqueue_batch, parameters_of(columns), Sent::deciding));
    DEADMAN_CHECK(static_cast<std::size_t>(answers.size()) == jobs);
    std::vector<Enqueued> enqueued;
    enqueued.reserve(jobs);
    for (const auto& row : answers)
        enqueued.push_back({.id = {row[0].as<std::int64_t>()},
                            .is_new = row[1].as<bool>(),
                            .replayed = row[2].as<bool>()});
    return enqueued;
}

} // namespace deadman::store::postgres
