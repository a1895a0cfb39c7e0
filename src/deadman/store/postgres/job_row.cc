#include "deadman/store/postgres/internal/job_row.h"

namespace deadman::store::postgres {
namespace {

enum Column {
    id,
    state,
    kind,
    queue,
    priority,
    payload,
    attempt,
    max_attempts,
    retry,
    timeout_us,
    transactional,
    unique_key,
    lapses,
    crashes,
    snoozes,
    cancel_requested,
    created_us,
    due_us,
    fence,
    session,
    worker,
    claimed_us,
    finished_us,
    reason,
    message,
    result,
    percent,
    note
};

enum RunColumn {
    run_fence,
    run_outcome,
    run_attempt,
    run_session,
    run_worker,
    run_claimed_us,
    run_finished_us,
    run_reason,
    run_message
};

std::string text(const pqxx::field& field) {
    return std::string(field.view()); // empty where null
}

std::optional<base::TimePoint> time(const pqxx::field& field) {
    if (field.is_null())
        return std::nullopt;
    return base::from_micros(field.as<std::int64_t>());
}

template <typename Id> std::optional<Id> strong_id(const pqxx::field& field) {
    if (field.is_null())
        return std::nullopt;
    return Id{field.as<std::int64_t>()};
}

domain::Outcome outcome_of(int number) {
    switch (number) {
    case 0:
        return domain::Outcome::running;
    case 1:
        return domain::Outcome::succeeded;
    case 3:
        return domain::Outcome::cancelled;
    case 11:
        return domain::Outcome::retry;
    case 12:
        return domain::Outcome::snooze;
    case 13:
        return domain::Outcome::release;
    case 14:
        return domain::Outcome::lapse;
    default:
        return domain::Outcome::failed;
    }
}

} // namespace

base::Result<JobRecord> read_job(const pqxx::row& row) {
    JobRecord job;
    job.id = {row[id].as<std::int64_t>()};
    job.state = domain::parse_job_state(row[state].view()).value_or(domain::JobState::failed);
    job.kind = text(row[kind]);
    job.queue = text(row[queue]);
    job.priority = row[priority].as<int>();
    job.payload = text(row[payload]);
    job.attempts_spent = row[attempt].as<int>();
    job.max_attempts = row[max_attempts].as<int>();
    if (!row[retry].is_null()) {
        DEADMAN_TRY(job.retry, domain::parse_retry_policy(row[retry].view()));
    }
    job.timeout = base::Duration{row[timeout_us].as<std::int64_t>()};
    job.transactional = row[transactional].as<bool>();
    job.unique_key = text(row[unique_key]);
    job.blame = {.lapse_score = row[lapses].as<int>(), .crashes = row[crashes].as<int>()};
    job.snoozes = row[snoozes].as<int>();
    job.cancel_requested = row[cancel_requested].as<bool>();
    job.created_at = base::from_micros(row[created_us].as<std::int64_t>());
    job.due = base::from_micros(row[due_us].as<std::int64_t>());
    job.fence = strong_id<domain::Fence>(row[fence]);
    job.session = strong_id<domain::SessionId>(row[session]);
    job.worker = text(row[worker]);
    job.claimed_at = time(row[claimed_us]);
    job.finished_at = time(row[finished_us]);
    job.reason = text(row[reason]);
    job.message = text(row[message]);
    job.result = text(row[result]);
    job.progress_percent = row[percent].as<int>(0);
    job.progress_note = text(row[note]);
    return job;
}

RunRecord read_run(const pqxx::row& row) {
    RunRecord run;
    run.fence = {row[run_fence].as<std::int64_t>()};
    run.outcome = outcome_of(row[run_outcome].as<int>());
    run.attempts_spent = row[run_attempt].as<int>();
    run.session = strong_id<domain::SessionId>(row[run_session]);
    run.worker = text(row[run_worker]);
    run.claimed_at = time(row[run_claimed_us]);
    run.finished_at = time(row[run_finished_us]);
    run.reason = text(row[run_reason]);
    run.message = text(row[run_message]);
    return run;
}

} // namespace deadman::store::postgres
