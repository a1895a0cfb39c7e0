#include <algorithm>

#include "deadman/domain/payload.h"
#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

using base::ErrorCode;
using domain::AnswerKind;
using domain::JobState;
using domain::Outcome;
using domain::Verdict;

namespace {

// A handler's result must never keep its run from ending: what cannot be stored is left out.
std::string storable_result(const std::string& result) {
    const bool good = !result.empty() &&
                      domain::validate_payload(result, {.max_bytes = domain::largest_result_bytes});
    return good ? result : std::string{};
}

base::TimePoint later(base::TimePoint now, base::Duration delay) {
    return now + std::clamp(delay, base::Duration{}, domain::latest_time - now);
}

} // namespace

Verdict Model::complete(const SessionKey& session, const RunEnd& end, base::TimePoint now) {
    const SessionRow* known = known_session(session);
    const auto found = tables_.jobs.find(end.run.job);
    if (known == nullptr || found == tables_.jobs.end())
        return Verdict::fenced;
    JobRow& job = found->second;
    const auto run = std::ranges::find_if(job.runs, [&](const RunRow& record) {
        return record.fence == end.run.fence && record.session == session.id;
    });
    if (run == job.runs.end())
        return Verdict::fenced;
    if (run->outcome != Outcome::running)
        return run->reaped ? Verdict::fenced : Verdict::repeat;

    const bool cancel = job.cancel_requested;
    const Outcome outcome =
        domain::decide(end.answer, job.attempts_spent, job.spec.max_attempts, cancel);
    apply_answer(job, end.answer, outcome, now);
    return cancel && end.answer.kind != AnswerKind::cancelled ? Verdict::cancelled : Verdict::ok;
}

base::Status Model::check_transact(const SessionKey& session, const RunKey& run) const {
    const auto job = tables_.jobs.find(run.job);
    if (live_session(session) == nullptr || job == tables_.jobs.end() ||
        !job->second.is_held_under(run.fence) || job->second.runs.back().session != session.id)
        return base::fail(ErrorCode::fenced, "the run is no longer this session's");
    if (job->second.cancel_requested)
        return base::fail(ErrorCode::cancelled, "the job was cancelled");
    return {};
}

RunRecord& Model::close_run(JobRow& job, Outcome outcome, base::TimePoint now) {
    RunRecord& run = job.runs.back();
    run.outcome = outcome;
    run.attempts_spent = job.attempts_spent;
    run.finished_at = now;
    return run;
}

void Model::apply_answer(JobRow& job, const domain::Answer& answer, Outcome outcome,
                         base::TimePoint now) {
    job.attempts_spent = domain::spent_after(answer, outcome, job.attempts_spent);
    if (outcome != Outcome::release) // handed back: the handler said nothing about it
        job.blame = {};
    RunRecord& run = close_run(job, outcome, now);
    run.reason = domain::clean_text(answer.reason, domain::max_name_bytes);
    run.message = domain::clean_text(answer.message, domain::largest_message_bytes);
    if (!run.message.empty())
        job.message = run.message;

    switch (outcome) {
    case Outcome::succeeded:
        job.result = storable_result(answer.result);
        finish(job, JobState::succeeded, now);
        return;
    case Outcome::failed:
        if (run.reason.empty())
            run.reason = domain::reason_error;
        job.reason = run.reason;
        finish(job, JobState::failed, now);
        return;
    case Outcome::cancelled:
        job.reason = "cancelled";
        finish(job, JobState::cancelled, now);
        return;
    case Outcome::snooze:
        ++job.snoozes;
        [[fallthrough]];
    case Outcome::retry:
        leave(job);
        make_scheduled(job, later(now, answer.delay));
        return;
    case Outcome::release:
        return_to_ready(job);
        return;
    case Outcome::running:
    case Outcome::lapse:
        return; // no answer leads here
    }
}

void Model::lapse(JobRow& job, const domain::Lapse& lapse, const domain::CrashTerms& terms,
                  base::TimePoint now, UpkeepReport& report) {
    job.blame = domain::after_lapse(job.blame, lapse);
    job.runs.back().reaped = true;
    if (job.cancel_requested) {
        close_run(job, Outcome::cancelled, now);
        job.reason = "cancelled";
        finish(job, JobState::cancelled, now);
    } else if (lapse.counts && domain::is_quarantined(job.blame, terms)) {
        close_run(job, Outcome::failed, now).reason = domain::reason_quarantined;
        job.reason = domain::reason_quarantined;
        finish(job, JobState::failed, now);
        ++report.quarantined;
    } else {
        close_run(job, Outcome::lapse, now);
        return_after(job, domain::delay_after_lapse(job.blame, lapse, terms), now);
        ++report.runs_returned;
    }
}

} // namespace deadman::store::memory
