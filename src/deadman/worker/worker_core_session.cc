// Sessions: registering, renewing, losing and ending one.

#include <utility>

#include "deadman/worker/worker_core.h"

namespace deadman::worker {

using namespace std::chrono_literals;

void WorkerCore::register_session(base::SteadyTime now) {
    if (now < session_not_before_) {
        wake_at(session_not_before_);
        return;
    }
    phase_ = Phase::registering;
    actions_.push_back(Register{session_spec(options_)});
}

Actions WorkerCore::registered(base::SteadyTime now, base::SteadyTime sent_at,
                               base::Result<store::Session> result) {
    if (phase_ != Phase::registering)
        return settle(now);
    if (!result) {
        // Of unknown outcome: a session that nobody knows holds nothing, and lapses by itself.
        report_failure("register", result.error().message);
        phase_ = Phase::unregistered;
        session_not_before_ = now + session_backoff_.next(random_);
        return settle(now);
    }
    session_backoff_.reset();
    session_not_before_ = {};
    session_ = result->key;
    lease_.begin(*result, std::min(sent_at, now));
    renew_due_ = std::min(sent_at, now) + lease_.renew_every();
    renew_backoff_ = internal::Backoff(lease_.renew_every() / 8, lease_.renew_every());
    phase_ = Phase::live;
    report({.kind = ReportKind::session_started, .detail = std::to_string(session_.id.value)});
    return settle(now);
}

Actions WorkerCore::renewed(base::SteadyTime now, std::int64_t renew_no, base::SteadyTime sent_at,
                            base::Result<store::Renewal> result) {
    if (!renewal_ || renewal_->no != renew_no)
        return settle(now);
    SentRenewal sent = std::move(*renewal_);
    renewal_.reset();
    if (result) {
        renew_backoff_.reset();
        lease_.acknowledge(std::min(sent_at, now));
        apply_renewal(now, *result, sent);
    } else if (result.error().code == base::ErrorCode::fenced) {
        lose_session(now, result.error().message);
    } else {
        report_failure("renew", result.error().message);
        progress_.merge(sent.progress); // keeps what is newer
        renew_due_ = std::min(renew_due_, now + renew_backoff_.next(random_));
    }
    return settle(now);
}

void WorkerCore::apply_renewal(base::SteadyTime now, const store::Renewal& renewal,
                               const SentRenewal& sent) {
    internal::RunKeys seen;
    for (const store::HeldLease& lease : renewal.leases) {
        const bool claim_known = lease.claim_no < sent.first_uncertain_claim;
        for (const domain::JobId job : lease.unended) {
            const store::RunKey run{job, lease.fence};
            seen.insert(run);
            if (claim_known && !sent.held.contains(run) && !held_.contains(run))
                desk_.add_orphan(lease.claim_no);
        }
        apply_cancels(now, lease);
    }
    drop_vanished(seen, sent);
}

void WorkerCore::apply_cancels(base::SteadyTime now, const store::HeldLease& lease) {
    for (const domain::JobId job : lease.cancel_requested) {
        const store::RunKey run{job, lease.fence};
        if (const auto active = active_.find(run); active != active_.end()) {
            if (!active->second.stopping)
                stop_run(now, run, active->second, StopWhy::cancelled);
            continue;
        }
        const auto claimed =
            std::find_if(buffer_.begin(), buffer_.end(),
                         [&](const store::Claimed& entry) { return entry.run == run; });
        if (claimed == buffer_.end())
            continue;
        buffer_.erase(claimed);
        domain::Answer answer;
        answer.kind = domain::AnswerKind::cancelled;
        end_run(run, std::move(answer));
    }
}

/// A run that has not started and that the store does not count as ours: never start it.
void WorkerCore::drop_vanished(const internal::RunKeys& seen, const SentRenewal& sent) {
    std::erase_if(buffer_, [&](const store::Claimed& claimed) {
        if (!sent.held.contains(claimed.run) || seen.contains(claimed.run))
            return false;
        held_.erase(claimed.run);
        report({.kind = ReportKind::lease_lost,
                .run = claimed.run,
                .verdict = domain::Verdict::fenced,
                .detail = "a renewal does not name it"});
        return true;
    });
    if (held_.empty())
        alone_ = false;
}

void WorkerCore::begin_fencing(base::SteadyTime now) {
    report({.kind = ReportKind::lease_uncertain,
            .detail = "no renewal was acknowledged in time: handlers are stopped"});
    phase_ = Phase::fencing;
    lease_.stop(now);
    stop_all(now, StopWhy::lease_uncertain);
    hand_back_buffer(StopWhy::lease_uncertain);
}

void WorkerCore::lose_session(base::SteadyTime now, const std::string& why) {
    if (phase_ != Phase::live && phase_ != Phase::fencing)
        return;
    report({.kind = ReportKind::session_lost, .detail = why});
    for (const store::RunKey& run : held_)
        report({.kind = ReportKind::lease_lost,
                .run = run,
                .verdict = domain::Verdict::fenced,
                .detail = "the session has ended: " + why});
    forget_session();
    phase_ = Phase::lost;
    lease_.stop(now);
    stop_all(now, StopWhy::lease_uncertain);
}

void WorkerCore::forget_session() {
    renewal_.reset();
    desk_.forget();
    ends_.drop_all();
    buffer_.clear();
    progress_.clear();
    held_.clear();
    alone_ = false;
    ask_suspect_next_ = false;
}

void WorkerCore::begin_ending(base::SteadyTime now, std::string reason) {
    forget_session();
    for (auto& [run, active] : active_)
        active.settled = true; // ends with the session
    phase_ = Phase::ending;
    ending_since_ = now;
    ending_call_ = false;
    end_reason_ = std::move(reason);
    session_not_before_ = {};
    end_session(now);
}

void WorkerCore::end_session(base::SteadyTime now) {
    if (drain_since_ && now >= ending_since_ + options_.force_bound) {
        finish();
        return;
    }
    if (drain_since_)
        wake_at(ending_since_ + options_.force_bound);
    if (ending_call_)
        return;
    if (now < session_not_before_) {
        wake_at(session_not_before_);
        return;
    }
    ending_call_ = true;
    actions_.push_back(EndSession{session_, end_reason_});
}

Actions WorkerCore::session_ended(base::SteadyTime now, const base::Status& result) {
    if (phase_ != Phase::ending)
        return settle(now);
    ending_call_ = false;
    if (!result && result.error().code != base::ErrorCode::fenced &&
        result.error().code != base::ErrorCode::not_found) {
        report_failure("end_session", result.error().message);
        session_not_before_ = now + session_backoff_.next(random_);
        return settle(now);
    }
    session_backoff_.reset();
    session_not_before_ = {};
    report({.kind = ReportKind::session_ended, .detail = end_reason_});
    phase_ = Phase::unregistered;
    return settle(now);
}

void WorkerCore::leave(std::string why) {
    actions_.push_back(LeaveProcess{std::move(why)});
    finish();
}

void WorkerCore::finish() {
    forget_session();
    phase_ = Phase::finished;
    actions_.push_back(Finished{static_cast<int>(active_.size())});
}

} // namespace deadman::worker
