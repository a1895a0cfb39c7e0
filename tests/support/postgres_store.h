#pragma once
// Steps on a PostgresJobStore that several tests share. Each throws where the store gives an error.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/store/postgres/postgres_job_store.h"

namespace deadman::test {

template <typename T> T value(base::Result<T> result) {
    if (!result)
        throw std::runtime_error(std::string(base::error_code_name(result.error().code)) + ": " +
                                 result.error().message);
    if constexpr (!std::is_void_v<T>)
        return std::move(*result);
}

/// Nothing where it went well.
template <typename T> std::optional<base::ErrorCode> code_of(const base::Result<T>& result) {
    if (result)
        return std::nullopt;
    return result.error().code;
}

inline std::unique_ptr<store::JobStore> open_store(base::Clock& clock, const std::string& url,
                                                   std::shared_ptr<store::ClockShift> shift = {}) {
    store::PostgresOptions options;
    options.url = url;
    options.seed = 1;
    options.clock_shift = std::move(shift);
    return value(store::PostgresJobStore::open(clock, options));
}

inline std::vector<domain::JobId> enqueue(store::JobStore& store, int count,
                                          domain::JobSpec spec = {.kind = "work"}) {
    const std::vector<domain::JobSpec> specs(static_cast<std::size_t>(count), spec);
    std::vector<domain::JobId> ids;
    for (const store::Enqueued& enqueued : value(store.enqueue(specs)))
        ids.push_back(enqueued.id);
    return ids;
}

inline store::Session open_session(store::JobStore& store) {
    store::SessionSpec spec;
    spec.worker = "worker";
    spec.queues = {"default"};
    return value(store.register_session(spec));
}

} // namespace deadman::test
