#include "deadman/worker/internal/claim_desk.h"

#include <utility>

#include "deadman/base/check.h"

namespace deadman::worker::internal {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration first_pause = 50ms;
constexpr base::Duration longest_pause = 5s;

} // namespace

ClaimDesk::ClaimDesk() : backoff_(first_pause, longest_pause) {}

store::ClaimRequest ClaimDesk::open(const std::vector<std::string>& queues, int max, bool suspect) {
    DEADMAN_CHECK(!open_ && !calling_);
    open_ = store::ClaimRequest{next_no_++, queues, max, suspect};
    step_ = Step::repeat;
    number_spent_ = false;
    calling_ = true;
    return *open_;
}

std::optional<ReadBack> ClaimDesk::next_read_back(base::SteadyTime now, const RunKeys& held) {
    if (calling_ || now < not_before_)
        return std::nullopt;
    if (open_ && step_ == Step::read_back)
        reading_ = open_->claim_no;
    else if (!open_ && !orphans_.empty())
        reading_ = *orphans_.begin();
    else
        return std::nullopt;
    calling_ = true;
    held_when_read_ = held;
    return ReadBack{*reading_};
}

std::optional<store::ClaimRequest> ClaimDesk::next_repeat(base::SteadyTime now, bool settle_only) {
    if (calling_ || !open_ || step_ != Step::repeat)
        return std::nullopt;
    if (settle_only) {
        open_.reset(); // should it have taken something after all, a renewal will name it
        return std::nullopt;
    }
    if (now < not_before_)
        return std::nullopt;
    calling_ = true;
    return open_;
}

ClaimAnswer ClaimDesk::claim_answered(base::SteadyTime now, std::int64_t claim_no,
                                      base::Result<std::vector<store::Claimed>> result,
                                      base::Random& random) {
    if (!calling_ || reading_ || !open_ || open_->claim_no != claim_no)
        return {};
    calling_ = false;
    if (!result)
        return failed(now, result.error(), random);
    ClaimAnswer answer;
    answer.stale = false;
    answer.closed = true;
    answer.suspect = open_->suspect;
    answer.runs = std::move(*result);
    open_.reset();
    backoff_.reset();
    return answer;
}

ClaimAnswer ClaimDesk::failed(base::SteadyTime now, const base::Error& error,
                              base::Random& random) {
    ClaimAnswer answer;
    answer.stale = false;
    answer.suspect = open_->suspect;
    answer.failure = error.message;
    switch (error.code) {
    case base::ErrorCode::fenced:
        answer.session_lost = true;
        break;
    case base::ErrorCode::outcome_unknown:
        step_ = Step::read_back;
        break;
    case base::ErrorCode::conflict:
        step_ = Step::read_back;
        number_spent_ = true;
        return answer; // no pause: an earlier try got through, and its runs wait
    case base::ErrorCode::unavailable:
    case base::ErrorCode::exhausted:
        break; // nothing happened: the same number again
    default:
        open_.reset(); // this request will not do; the next one may
        break;
    }
    not_before_ = now + backoff_.next(random);
    return answer;
}

ClaimAnswer ClaimDesk::read_back(base::SteadyTime now, std::int64_t claim_no,
                                 base::Result<std::vector<store::Claimed>> result,
                                 const RunKeys& held, base::Random& random) {
    if (!calling_ || reading_ != claim_no)
        return {};
    calling_ = false;
    reading_.reset();
    ClaimAnswer answer;
    answer.stale = false;
    answer.orphans = !open_;
    answer.suspect = open_ && open_->suspect;
    if (!result) {
        answer.failure = result.error().message;
        answer.session_lost = result.error().code == base::ErrorCode::fenced;
        not_before_ = now + backoff_.next(random);
        return answer;
    }
    backoff_.reset();
    // What was held when the question went out may have ended since; it is no news.
    for (store::Claimed& claimed : *result)
        if (!held_when_read_.contains(claimed.run) && !held.contains(claimed.run))
            answer.runs.push_back(std::move(claimed));
    if (answer.orphans) {
        orphans_.erase(claim_no);
        answer.closed = true;
    } else if (!result->empty() || number_spent_) {
        open_.reset();
        answer.closed = true;
    } else {
        step_ = Step::repeat;
    }
    return answer;
}

void ClaimDesk::add_orphan(std::int64_t claim_no) {
    if (reading_ != claim_no)
        orphans_.insert(claim_no);
}

void ClaimDesk::forget() {
    open_.reset();
    reading_.reset();
    orphans_.clear();
    calling_ = false;
    not_before_ = {};
    backoff_.reset();
}

} // namespace deadman::worker::internal
