#include "deadman/domain/job_state.h"

#include <array>
#include <utility>

namespace deadman::domain {
namespace {

constexpr std::array<std::pair<JobState, std::string_view>, 8> names{{
    {JobState::waiting, "waiting"},
    {JobState::scheduled, "scheduled"},
    {JobState::pending, "pending"},
    {JobState::running, "running"},
    {JobState::succeeded, "succeeded"},
    {JobState::failed, "failed"},
    {JobState::cancelled, "cancelled"},
    {JobState::expired, "expired"},
}};

std::optional<JobState> from_waiting(JobEvent event) {
    switch (event) {
    case JobEvent::dependencies_met:
        return JobState::pending;
    case JobEvent::dependencies_met_later:
        return JobState::scheduled;
    case JobEvent::parent_failed:
        return JobState::failed;
    case JobEvent::cancel:
        return JobState::cancelled;
    default:
        return std::nullopt;
    }
}

std::optional<JobState> from_scheduled(JobEvent event) {
    switch (event) {
    case JobEvent::due:
        return JobState::pending;
    case JobEvent::claim: // what is due may be claimed before the due scan has moved it
        return JobState::running;
    case JobEvent::cancel:
        return JobState::cancelled;
    case JobEvent::expire:
        return JobState::expired;
    default:
        return std::nullopt;
    }
}

std::optional<JobState> from_pending(JobEvent event) {
    switch (event) {
    case JobEvent::claim:
        return JobState::running;
    case JobEvent::reschedule:
        return JobState::scheduled;
    case JobEvent::cancel:
        return JobState::cancelled;
    case JobEvent::expire:
        return JobState::expired;
    default:
        return std::nullopt;
    }
}

std::optional<JobState> from_running(JobEvent event) {
    switch (event) {
    case JobEvent::succeed:
        return JobState::succeeded;
    case JobEvent::fail:
    case JobEvent::quarantine:
        return JobState::failed;
    case JobEvent::retry:
    case JobEvent::snooze:
        return JobState::scheduled;
    case JobEvent::release:
    case JobEvent::lapse:
        return JobState::pending;
    case JobEvent::cancel:
        return JobState::cancelled;
    default:
        return std::nullopt;
    }
}

} // namespace

std::optional<JobState> next_state(JobState state, JobEvent event) {
    switch (state) {
    case JobState::waiting:
        return from_waiting(event);
    case JobState::scheduled:
        return from_scheduled(event);
    case JobState::pending:
        return from_pending(event);
    case JobState::running:
        return from_running(event);
    case JobState::failed:
    case JobState::cancelled:
    case JobState::expired:
        if (event == JobEvent::operator_retry)
            return JobState::pending;
        return std::nullopt;
    case JobState::succeeded:
        return std::nullopt;
    }
    return std::nullopt;
}

bool is_terminal(JobState state) {
    switch (state) {
    case JobState::succeeded:
    case JobState::failed:
    case JobState::cancelled:
    case JobState::expired:
        return true;
    case JobState::waiting:
    case JobState::scheduled:
    case JobState::pending:
    case JobState::running:
        return false;
    }
    return false;
}

std::string_view job_state_name(JobState state) {
    for (const auto& [value, name] : names)
        if (value == state)
            return name;
    return "unknown";
}

std::optional<JobState> parse_job_state(std::string_view name) {
    for (const auto& [value, known] : names)
        if (known == name)
            return value;
    return std::nullopt;
}

} // namespace deadman::domain
