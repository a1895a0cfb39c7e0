// Claims: when to ask for what, and what to do with the answers.

#include <algorithm>
#include <utility>

#include "deadman/worker/worker_core.h"

namespace deadman::worker {
namespace {

using namespace std::chrono_literals;

// Rounds of asking that found nothing: so many at once, and one more for each pause. It bounds what
// a storm of wake-ups costs, and a lone wake-up never waits.
constexpr base::Duration idle_round_pause = 500ms;
constexpr base::Duration idle_round_burst = 10s;

} // namespace

Actions WorkerCore::claim_answered(base::SteadyTime now, std::int64_t claim_no,
                                   base::Result<std::vector<store::Claimed>> result) {
    claim_closed(now, desk_.claim_answered(now, claim_no, std::move(result), random_));
    return settle(now);
}

Actions WorkerCore::claim_read_back(base::SteadyTime now, std::int64_t claim_no,
                                    base::Result<std::vector<store::Claimed>> result) {
    claim_closed(now, desk_.read_back(now, claim_no, std::move(result), held_, random_));
    return settle(now);
}

void WorkerCore::claim_closed(base::SteadyTime now, internal::ClaimAnswer answer) {
    if (answer.stale)
        return;
    if (!answer.failure.empty())
        report_failure("claim", answer.failure);
    if (answer.session_lost) {
        lose_session(now, answer.failure);
        return;
    }
    if (!answer.closed)
        return;
    if (answer.runs.empty() && !answer.orphans) {
        claim_found_nothing(now, answer.suspect);
        return;
    }
    if (answer.suspect)
        suspects_.found(now, random_);
    nothing_claimable_ = false;
    empty_claims_ = 0;
    idle_rounds_until_ = {}; // work comes: what woke us told the truth
    take(std::move(answer.runs), answer.suspect, answer.orphans);
}

void WorkerCore::claim_found_nothing(base::SteadyTime now, bool suspect) {
    if (suspect) {
        suspects_.missed(now, random_);
        if (nothing_claimable_)
            go_idle(now, options_.max_idle_patience);
        return;
    }
    nothing_claimable_ = true;
    ++empty_claims_;
    const bool may_ask = held_.empty() && active_.empty();
    if (may_ask && suspects_.idle_due(now))
        ask_suspect_next_ = true;
    else
        go_idle(now, may_ask ? suspects_.idle_from() - now : options_.max_idle_patience);
}

void WorkerCore::go_idle(base::SteadyTime now, base::Duration at_most) {
    nothing_claimable_ = false;
    if (drain_since_ || phase_ != Phase::live)
        return;
    idle_rounds_until_ = std::max(idle_rounds_until_, now) + idle_round_pause;
    const base::Duration patience =
        std::min({options_.idle_patience * (1 + empty_claims_ / 8), options_.max_idle_patience,
                  std::max(at_most, idle_round_pause)});
    const double share = 0.75 + random_.unit() / 4;
    desk_.wait_for_work();
    actions_.push_back(Idle{options_.queues, base::Duration{static_cast<base::Duration::rep>(
                                                 static_cast<double>(patience.count()) * share)}});
}

void WorkerCore::claim_new(base::SteadyTime now) {
    if (alone_)
        return;
    const bool nothing_here = held_.empty() && active_.empty();
    const bool turn = suspects_.draining(now, random_);
    if (nothing_here && (turn || ask_suspect_next_)) {
        ask_suspect_next_ = false;
        ask_claim(true, 1);
        return;
    }
    ask_suspect_next_ = false;
    wake_at(suspects_.next_change());
    if (turn || !worth_claiming())
        return;
    if (now + idle_round_burst < idle_rounds_until_)
        wake_at(idle_rounds_until_ - idle_round_burst);
    else
        ask_claim(false, std::min(room(), static_cast<std::size_t>(options_.max_batch)));
}

void WorkerCore::ask_claim(bool suspect, std::size_t max) {
    actions_.push_back(
        Claim{session_, desk_.open(options_.queues, static_cast<int>(max), suspect)});
}

/// Small claims cost as much as big ones: ask when there is room for a good part of the buffer, or
/// when a slot would stand idle.
bool WorkerCore::worth_claiming() const {
    const std::size_t slots = static_cast<std::size_t>(options_.slots);
    const std::size_t whole = slots + prefetch_;
    const std::size_t free = room();
    const bool slot_idle = buffer_.empty() && active_.size() < slots;
    return free > 0 && (slot_idle || free >= std::max<std::size_t>(1, whole / 3));
}

/// How many runs may wait follows how long they take. Where jobs have become long, those at the
/// back are handed back: another worker may have a slot for them.
void WorkerCore::adapt_prefetch(base::SteadyTime now) {
    if (!prefetch_tuning_.tunes_itself() || phase_ != Phase::live)
        return;
    prefetch_ = prefetch_tuning_.runs(youngest_age(now));
    const std::size_t surplus_from = 2 * prefetch_ + static_cast<std::size_t>(options_.slots);
    if (buffer_.size() > surplus_from) {
        for (auto surplus = buffer_.begin() + static_cast<std::ptrdiff_t>(prefetch_);
             surplus != buffer_.end(); ++surplus)
            hand_back(*surplus, "surplus");
        buffer_.resize(prefetch_);
    }
    if (buffer_.size() > static_cast<std::size_t>(options_.prefetch))
        wake_at(now + options_.prefetch_ahead);
}

/// Nothing while a slot is free.
base::Duration WorkerCore::youngest_age(base::SteadyTime now) const {
    if (active_.size() < static_cast<std::size_t>(options_.slots))
        return {};
    base::Duration youngest = base::Duration::max();
    for (const auto& [run, active] : active_)
        youngest = std::min(youngest, now - active.started);
    return youngest;
}

std::size_t WorkerCore::room() const {
    const std::size_t whole = static_cast<std::size_t>(options_.slots) + prefetch_;
    const std::size_t taken = buffer_.size() + active_.size();
    // Ends that the store does not take pile up to one more such bufferful, and no further.
    if (taken >= whole || held_.size() >= 2 * whole)
        return 0;
    return std::min(whole - taken, 2 * whole - held_.size());
}

void WorkerCore::take(std::vector<store::Claimed> runs, bool suspect, bool orphans) {
    for (store::Claimed& claimed : runs) {
        if (held_.contains(claimed.run))
            continue;
        if (orphans)
            report({.kind = ReportKind::orphan_adopted, .run = claimed.run});
        const bool must_be_alone = suspect || (orphans && domain::is_suspect(claimed.blame));
        take_one(std::move(claimed), must_be_alone);
    }
}

void WorkerCore::take_one(store::Claimed claimed, bool must_be_alone) {
    const bool company = !held_.empty() || !active_.empty();
    held_.insert(claimed.run);
    if (alone_ || (must_be_alone && company)) {
        domain::Answer answer;
        answer.kind = domain::AnswerKind::release;
        answer.reason = "not_alone";
        end_run(claimed.run, std::move(answer));
        return;
    }
    alone_ = must_be_alone;
    prefetch_tuning_.claimed(claimed.payload.size());
    buffer_.push_back(std::move(claimed));
}

bool WorkerCore::knows_kind(const std::string& kind) const {
    return std::binary_search(options_.kinds.begin(), options_.kinds.end(), kind);
}

} // namespace deadman::worker
