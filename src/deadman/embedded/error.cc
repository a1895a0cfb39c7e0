#include "deadman/embedded/internal/translate.h"

namespace deadman {

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(message), code_(code) {}

ErrorCode Error::code() const noexcept {
    return code_;
}

} // namespace deadman

namespace deadman::embedded {

ErrorCode translate(base::ErrorCode code) {
    switch (code) {
    case base::ErrorCode::invalid_argument:
        return ErrorCode::invalid_argument;
    case base::ErrorCode::not_found:
        return ErrorCode::not_found;
    case base::ErrorCode::already_exists:
        return ErrorCode::already_exists;
    case base::ErrorCode::conflict:
        return ErrorCode::conflict;
    case base::ErrorCode::fenced:
        return ErrorCode::fenced;
    case base::ErrorCode::unavailable:
        return ErrorCode::unavailable;
    case base::ErrorCode::exhausted:
        return ErrorCode::exhausted;
    case base::ErrorCode::cancelled:
        return ErrorCode::cancelled;
    case base::ErrorCode::outcome_unknown:
        return ErrorCode::outcome_unknown;
    case base::ErrorCode::internal:
        break;
    }
    return ErrorCode::internal;
}

JobState translate(domain::JobState state) {
    switch (state) {
    case domain::JobState::waiting:
        return JobState::waiting;
    case domain::JobState::scheduled:
        return JobState::scheduled;
    case domain::JobState::pending:
        return JobState::pending;
    case domain::JobState::running:
        return JobState::running;
    case domain::JobState::succeeded:
        return JobState::succeeded;
    case domain::JobState::failed:
        return JobState::failed;
    case domain::JobState::cancelled:
        return JobState::cancelled;
    case domain::JobState::expired:
        break;
    }
    return JobState::expired;
}

domain::JobSpec translate(const Job& job) {
    domain::JobSpec spec;
    spec.kind = job.kind;
    spec.payload = job.payload;
    spec.queue = job.queue;
    spec.priority = job.priority;
    spec.delay = job.delay;
    spec.max_attempts = job.max_attempts;
    spec.timeout = job.timeout;
    spec.transactional = job.transactional;
    spec.unique_key = job.unique_key;
    spec.idempotency_key = job.idempotency_key;
    return spec;
}

} // namespace deadman::embedded
