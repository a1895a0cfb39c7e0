// The events, and the rules that every event applies.

#include "deadman/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "deadman/base/check.h"

namespace deadman::worker {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration first_session_pause = 100ms;
constexpr base::Duration longest_session_pause = 5s;

} // namespace

WorkerCore::WorkerCore(WorkerOptions options)
    : options_(std::move(options)), random_(options_.seed),
      session_backoff_(first_session_pause, longest_session_pause),
      renew_backoff_(first_session_pause, longest_session_pause), suspects_(options_),
      prefetch_tuning_(options_), prefetch_(static_cast<std::size_t>(options_.prefetch)),
      ends_(options_.max_batch) {
    DEADMAN_CHECK(options_.slots > 0 && options_.prefetch >= 0);
}

Actions WorkerCore::start(base::SteadyTime now) {
    suspects_.begin(now, random_);
    return settle(now);
}

Actions WorkerCore::tick(base::SteadyTime now) {
    return settle(now);
}

Actions WorkerCore::woken(base::SteadyTime now) {
    desk_.woken();
    return settle(now);
}

Actions WorkerCore::progress(base::SteadyTime now, const store::RunKey& run, int percent,
                             std::string note) {
    if (held_.contains(run) && active_.contains(run))
        progress_.insert_or_assign(run, store::RunProgress{run, std::move(note), percent});
    return settle(now);
}

Actions WorkerCore::drain(base::SteadyTime now) {
    if (!drain_since_) {
        drain_since_ = now;
        report({.kind = ReportKind::drain_started});
    }
    return settle(now);
}

Actions WorkerCore::force_drain(base::SteadyTime now) {
    if (!forced_since_) {
        forced_since_ = now;
        drain_since_ = drain_since_.value_or(now);
        report({.kind = ReportKind::drain_forced});
        stop_all(now, StopWhy::drain);
        for (auto& [run, active] : active_)
            active.stop_deadline = std::min(active.stop_deadline, now + options_.force_bound / 4);
    }
    return settle(now);
}

Actions WorkerCore::settle(base::SteadyTime now) {
    next_wake_ = base::SteadyTime::max();
    if (phase_ != Phase::finished) {
        check_lease(now);
        check_runs(now);
        check_drain(now);
        start_runs(now);
        adapt_prefetch(now);
        flush_ends(now);
        claim_more(now);
        check_session(now);
        renew(now);
    }
    return std::exchange(actions_, {});
}

void WorkerCore::check_lease(base::SteadyTime now) {
    if (phase_ == Phase::live && lease_.uncertain(now))
        begin_fencing(now);
    if (phase_ == Phase::live)
        wake_at(lease_.cancel_at());
    if (!handlers_unsettled() || (phase_ != Phase::fencing && phase_ != Phase::lost))
        return;
    const bool over = phase_ == Phase::lost || lease_.uncertain(now);
    if (over && now >= lease_.leave_at())
        leave("a handler runs on although its lease may be over");
    else
        wake_at(over ? lease_.leave_at() : lease_.cancel_at());
}

void WorkerCore::check_runs(base::SteadyTime now) {
    for (auto& [run, active] : active_) {
        if (!active.stopping && now >= active.deadline)
            stop_run(now, run, active, StopWhy::timeout);
        if (!active.stopping) {
            wake_at(active.deadline);
        } else if (!active.abandoned && held_.contains(run)) {
            // While the lease is uncertain the end cannot be recorded: then leave() is the last
            // resort.
            if (now < active.stop_deadline)
                wake_at(active.stop_deadline);
            else if (lease_certain(now))
                abandon(run, active);
        }
    }
}

void WorkerCore::check_drain(base::SteadyTime now) {
    if (!drain_since_)
        return;
    hand_back_buffer(StopWhy::drain);
    const base::SteadyTime until = *drain_since_ + options_.drain_grace;
    if (now >= until)
        stop_all(now, StopWhy::drain);
    else
        wake_at(until);
}

void WorkerCore::start_runs(base::SteadyTime now) {
    if (phase_ != Phase::live || drain_since_)
        return;
    while (!buffer_.empty() && active_.size() < static_cast<std::size_t>(options_.slots)) {
        store::Claimed claimed = std::move(buffer_.front());
        buffer_.pop_front();
        if (!knows_kind(claimed.kind)) {
            domain::Answer answer;
            answer.kind = domain::AnswerKind::error;
            answer.reason = domain::reason_unknown_kind;
            answer.message = "this worker has no handler for the kind " + claimed.kind;
            answer.delay = claimed.retry.delay(claimed.attempts_spent + 1, random_.unit());
            end_run(claimed.run, std::move(answer));
            continue;
        }
        Active active;
        active.retry = claimed.retry;
        active.attempts_spent = claimed.attempts_spent;
        active.started = now;
        if (claimed.timeout > base::Duration::zero())
            active.deadline = now + claimed.timeout;
        wake_at(active.deadline);
        const base::SteadyTime deadline = active.deadline;
        active_.insert_or_assign(claimed.run, std::move(active));
        actions_.push_back(StartRun{session_, std::move(claimed), deadline});
    }
}

void WorkerCore::flush_ends(base::SteadyTime now) {
    if (phase_ != Phase::live && phase_ != Phase::fencing)
        return;
    if (auto batch = ends_.flush(now))
        actions_.push_back(Complete{session_, batch->no, std::move(batch->ends)});
    else
        wake_at(ends_.next_flush());
}

void WorkerCore::claim_more(base::SteadyTime now) {
    if (phase_ != Phase::live || desk_.calling())
        return;
    if (const auto read = desk_.next_read_back(now, held_)) {
        actions_.push_back(ReadBackClaim{session_, read->claim_no});
        return;
    }
    if (auto request = desk_.next_repeat(now, drain_since_.has_value())) {
        actions_.push_back(Claim{session_, std::move(*request)});
        return;
    }
    if (desk_.unsettled())
        wake_at(desk_.not_before());
    else if (!drain_since_ && !desk_.waiting_for_work())
        claim_new(now);
}

void WorkerCore::check_session(base::SteadyTime now) {
    if (phase_ == Phase::lost && !handlers_unsettled())
        phase_ = Phase::unregistered;
    const bool force_half = forced_since_ && now >= *forced_since_ + options_.force_bound / 2;
    switch (phase_) {
    case Phase::unregistered:
        drain_since_ ? finish() : register_session(now);
        break;
    case Phase::live:
        if (drain_since_ && (quiet() || force_half))
            begin_ending(now, "drain");
        break;
    case Phase::fencing:
        if ((!handlers_unsettled() && ends_.empty()) || force_half)
            begin_ending(now, "lease_uncertain");
        else if (drain_since_ && lease_.uncertain(now) && now >= lease_.leave_at())
            finish(); // nobody will take our answers any more
        else if (drain_since_)
            wake_at(lease_.leave_at());
        break;
    case Phase::ending:
        end_session(now);
        break;
    default:
        break;
    }
    if (!forced_since_ || phase_ == Phase::finished)
        return;
    if (now >= *forced_since_ + options_.force_bound)
        finish();
    else
        wake_at(*forced_since_ + (force_half ? options_.force_bound : options_.force_bound / 2));
}

void WorkerCore::renew(base::SteadyTime now) {
    if ((phase_ != Phase::live && phase_ != Phase::fencing) || renewal_)
        return;
    if (now < renew_due_) {
        wake_at(renew_due_);
        return;
    }
    store::RenewRequest request;
    for (const auto& [run, active] : active_)
        if (held_.contains(run))
            request.started.push_back(run.job);
    for (const auto& [run, progress] : progress_)
        request.progress.push_back(progress);
    request.idle = desk_.waiting_for_work() && active_.empty();
    renewal_ = SentRenewal{next_renew_no_++, held_, desk_.first_uncertain_no(),
                           std::exchange(progress_, {})};
    renew_due_ = now + lease_.renew_every();
    actions_.push_back(Renew{session_, renewal_->no, std::move(request)});
}

bool WorkerCore::handlers_unsettled() const {
    return std::any_of(active_.begin(), active_.end(),
                       [](const auto& entry) { return !entry.second.settled; });
}

bool WorkerCore::quiet() const {
    return held_.empty() && ends_.empty() && !handlers_unsettled() && !desk_.unsettled() &&
           !desk_.calling();
}

bool WorkerCore::lease_certain(base::SteadyTime now) const {
    return (phase_ == Phase::live || phase_ == Phase::fencing) && !lease_.uncertain(now);
}

void WorkerCore::wake_at(base::SteadyTime time) {
    next_wake_ = std::min(next_wake_, time);
}

void WorkerCore::report(Report report) {
    actions_.push_back(std::move(report));
}

void WorkerCore::report_failure(const char* call, const std::string& message) {
    report({.kind = ReportKind::call_failed, .detail = std::string(call) + ": " + message});
}

} // namespace deadman::worker
