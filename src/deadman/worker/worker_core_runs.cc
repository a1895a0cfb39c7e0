// Runs: how each one ends.

#include <utility>

#include "deadman/worker/worker_core.h"

namespace deadman::worker {

Actions WorkerCore::run_finished(base::SteadyTime now, const store::RunKey& run,
                                 domain::Answer answer, TransactionOutcome transaction) {
    const auto found = active_.find(run);
    if (found == active_.end())
        return settle(now);
    const Active active = std::move(found->second);
    active_.erase(found);
    progress_.erase(run);
    prefetch_tuning_.ran(now - active.started);
    if (active.abandoned)
        report({.kind = ReportKind::slot_regained, .run = run});
    if (transaction == TransactionOutcome::committed && !active.abandoned) {
        held_.erase(run);
        report({.kind = ReportKind::run_ended, .run = run, .in_transaction = true});
    } else if (!active.abandoned && held_.contains(run)) {
        if (transaction == TransactionOutcome::unknown) {
            // Ended already: `repeat`. Still held: its effect did not happen, and another run must.
            domain::Answer again;
            again.kind = domain::AnswerKind::release;
            again.reason = "outcome_unknown";
            end_run(run, std::move(again), true);
        } else {
            end_run(run, stopped_answer(active, answer));
        }
    }
    if (held_.empty())
        alone_ = false;
    return settle(now);
}

Actions WorkerCore::completed(base::SteadyTime now, std::int64_t batch_no,
                              base::Result<std::vector<domain::Verdict>> result) {
    const internal::EndAnswer answer = ends_.answered(now, batch_no, result, random_);
    if (!answer.failure.empty())
        report_failure("complete", answer.failure);
    if (answer.session_lost)
        lose_session(now, answer.failure);
    for (const internal::SettledEnd& end : answer.settled)
        end_settled(end);
    return settle(now);
}

void WorkerCore::end_settled(const internal::SettledEnd& end) {
    held_.erase(end.run);
    if (held_.empty())
        alone_ = false;
    if (const auto active = active_.find(end.run); active != active_.end())
        active->second.settled = true;
    Report line;
    line.run = end.run;
    line.answer = end.answer;
    line.verdict = end.verdict;
    if (end.verdict == domain::Verdict::fenced) {
        line.kind = ReportKind::lease_lost;
        line.detail = "the store refused its end: the run was not this session's any more";
    } else if (end.asked_about_transaction && end.verdict == domain::Verdict::repeat) {
        line.answer = domain::AnswerKind::succeeded;
        line.in_transaction = true;
    }
    report(std::move(line));
}

void WorkerCore::end_run(const store::RunKey& run, domain::Answer answer,
                         bool asks_about_transaction) {
    ends_.add({run, std::move(answer)}, asks_about_transaction);
}

void WorkerCore::hand_back_buffer(StopWhy why) {
    for (const store::Claimed& claimed : buffer_)
        hand_back(claimed, stop_why_name(why));
    buffer_.clear();
}

void WorkerCore::hand_back(const store::Claimed& claimed, std::string_view reason) {
    domain::Answer answer;
    answer.kind = domain::AnswerKind::release;
    answer.reason = reason;
    end_run(claimed.run, std::move(answer));
}

void WorkerCore::stop_run(base::SteadyTime now, const store::RunKey& run, Active& active,
                          StopWhy why) {
    active.stopping = why;
    active.stop_deadline = now + options_.cancel_grace;
    actions_.push_back(StopRun{run, why});
}

void WorkerCore::stop_all(base::SteadyTime now, StopWhy why) {
    for (auto& [run, active] : active_)
        if (!active.stopping)
            stop_run(now, run, active, why);
}

void WorkerCore::abandon(const store::RunKey& run, Active& active) {
    active.abandoned = true;
    actions_.push_back(AbandonRun{run});
    report({.kind = ReportKind::run_abandoned,
            .run = run,
            .detail = "its handler does not stop (" + std::string(stop_why_name(*active.stopping)) +
                      "): a slot is lost"});
    end_run(run, stopped_answer(active, {}));
}

domain::Answer WorkerCore::stopped_answer(const Active& active, const domain::Answer& given) {
    domain::Answer answer;
    if (!active.stopping) {
        answer = given;
    } else if (*active.stopping == StopWhy::cancelled) {
        answer.kind = domain::AnswerKind::cancelled;
    } else if (*active.stopping == StopWhy::timeout) {
        answer.kind = domain::AnswerKind::error;
        answer.reason = domain::reason_timeout;
        answer.message = "the run took longer than the job's timeout";
    } else {
        answer.kind = domain::AnswerKind::release;
        answer.reason = stop_why_name(*active.stopping);
    }
    if (answer.kind == domain::AnswerKind::error && answer.delay == base::Duration::zero())
        answer.delay = active.retry.delay(active.attempts_spent + 1, random_.unit());
    return answer;
}

} // namespace deadman::worker
