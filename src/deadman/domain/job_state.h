#pragma once
// JobState: where a job is, and the only legal moves between the places.
//
// Pure functions; no clock, no I/O.

#include <optional>
#include <string_view>

namespace deadman::domain {

enum class JobState {
    waiting,   // for other jobs
    scheduled, // due later: a delay, a retry's backoff, a snooze
    pending,   // claimable now
    running,   // held by a live lease
    succeeded,
    failed,
    cancelled,
    expired,
};

/// What happens to a job. Each is one arrow of the table in docs/ARCHITECTURE.md.
enum class JobEvent {
    dependencies_met,
    dependencies_met_later, // met, but due in the future
    parent_failed,
    due,
    claim,
    reschedule,
    succeed,
    fail,
    retry, // the handler failed and attempts are left
    snooze,
    release, // handed back unstarted, or cut short by a drain
    lapse,   // the lease ended
    quarantine,
    cancel,
    expire,
    operator_retry,
};

/// The state after `event`, or nothing where the move is illegal.
std::optional<JobState> next_state(JobState state, JobEvent event);

bool is_terminal(JobState state);

std::string_view job_state_name(JobState state);
std::optional<JobState> parse_job_state(std::string_view name);

} // namespace deadman::domain
