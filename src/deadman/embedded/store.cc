#include <condition_variable>
#include <mutex>

#include "deadman/domain/payload.h"
#include "deadman/embedded/internal/store_state.h"
#include "deadman/embedded/internal/translate.h"
#include "deadman/wiring/store_url.h"

namespace deadman {
namespace {

using embedded::throw_if_failed;
using embedded::value_or_throw;

constexpr base::Duration poll_every = std::chrono::milliseconds(20);

} // namespace

Store::Store(std::shared_ptr<State> state) : state_(std::move(state)) {}

Store Store::open(const std::string& url) {
    auto state = std::make_shared<State>();
    const auto parsed = value_or_throw(wiring::parse_store_url(url));
    state->store = value_or_throw(wiring::open_store(parsed, state->clock));
    value_or_throw(state->store->migrate());
    return Store(std::move(state));
}

std::int64_t Store::enqueue(const Job& job) {
    return enqueue(std::vector<Job>{job}).front();
}

std::vector<std::int64_t> Store::enqueue(const std::vector<Job>& jobs) {
    std::vector<domain::JobSpec> specs;
    for (const Job& job : jobs) {
        specs.push_back(embedded::translate(job));
        throw_if_failed(domain::validate_spec(specs.back()));
        throw_if_failed(domain::validate_payload(specs.back().payload));
    }
    std::vector<std::int64_t> ids;
    for (const store::Enqueued& enqueued : value_or_throw(state_->store->enqueue(specs)))
        ids.push_back(enqueued.id.value);
    return ids;
}

std::optional<JobState> Store::state(std::int64_t job_id) {
    const auto record = value_or_throw(state_->store->find(domain::JobId{job_id}));
    if (!record)
        return std::nullopt;
    return embedded::translate(record->state);
}

std::optional<JobState> Store::wait(std::int64_t job_id, Duration patience) {
    const base::SteadyTime deadline = state_->clock.steady_now() + patience;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    for (;;) {
        const auto record = value_or_throw(state_->store->find(domain::JobId{job_id}));
        if (!record)
            throw Error(ErrorCode::not_found, "no job " + std::to_string(job_id));
        if (domain::is_terminal(record->state))
            return embedded::translate(record->state);
        if (state_->clock.steady_now() >= deadline)
            return std::nullopt;
        state_->clock.wait_until(lock, never, state_->clock.steady_now() + poll_every,
                                 [] { return false; });
    }
}

bool Store::cancel(std::int64_t job_id) {
    switch (value_or_throw(state_->store->cancel(domain::JobId{job_id}))) {
    case store::CancelAnswer::cancelled:
    case store::CancelAnswer::requested:
        return true;
    case store::CancelAnswer::already_finished:
        return false;
    case store::CancelAnswer::not_found:
        throw Error(ErrorCode::not_found, "no job " + std::to_string(job_id));
    case store::CancelAnswer::unknown:
        break;
    }
    throw Error(ErrorCode::unavailable, "the job is locked: try again");
}

std::int64_t Store::count_outstanding() {
    return value_or_throw(state_->store->count_outstanding());
}

} // namespace deadman
