#include "deadman/store/postgres/internal/enqueue_group.h"

#include <algorithm>
#include <utility>

#include "deadman/base/check.h"

namespace deadman::store::postgres {
namespace {

/// Whether the failure may be one caller's own doing, so that the others' jobs are worth a try.
bool may_be_one_callers(const base::Error& error) {
    return error.code != base::ErrorCode::unavailable &&
           error.code != base::ErrorCode::outcome_unknown &&
           error.code != base::ErrorCode::exhausted;
}

} // namespace

EnqueueGroup::EnqueueGroup(Send send, int most_at_once, std::size_t most_jobs)
    : send_(std::move(send)), most_at_once_(most_at_once), most_jobs_(most_jobs) {
    DEADMAN_CHECK(most_at_once > 0);
}

EnqueueGroup::Answer EnqueueGroup::enqueue(Specs specs) {
    if (specs.size() >= most_jobs_)
        return send_({&specs, 1}); // a bulk load gains nothing, and would hold up the small ones
    Call call;
    call.specs = specs;
    std::vector<Call*> together;
    {
        std::unique_lock lock(mutex_);
        if (under_way_ >= most_at_once_) {
            waiting_.push_back(&call);
            call.changed.wait(lock, [&call] { return call.leads || call.answer; });
            if (call.answer)
                return *std::move(call.answer);
        } else {
            ++under_way_;
        }
        together = take_waiting(call);
    }
    std::vector<Answer> answers = send_together(together);
    // In one go: a caller may leave, and its call with it, as soon as it can see its answer.
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 1; i < together.size(); ++i) {
        together[i]->answer = std::move(answers[i]);
        together[i]->changed.notify_one();
    }
    pass_the_lead();
    return std::move(answers.front());
}

std::size_t EnqueueGroup::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
}

std::vector<EnqueueGroup::Call*> EnqueueGroup::take_waiting(Call& first) {
    std::vector<Call*> together{&first};
    std::size_t jobs = first.specs.size();
    auto next = waiting_.begin();
    for (; next != waiting_.end() && jobs + (*next)->specs.size() <= most_jobs_; ++next) {
        jobs += (*next)->specs.size();
        together.push_back(*next);
    }
    waiting_.erase(waiting_.begin(), next);
    return together;
}

std::vector<EnqueueGroup::Answer> EnqueueGroup::send_together(std::span<Call* const> calls) {
    std::vector<Specs> specs;
    specs.reserve(calls.size());
    for (const Call* call : calls)
        specs.push_back(call->specs);
    Answer answer = send_(specs);
    std::vector<Answer> answers;
    answers.reserve(calls.size());
    if (calls.size() == 1) {
        answers.push_back(std::move(answer));
    } else if (!answer && may_be_one_callers(answer.error())) {
        for (const Specs& one : specs)
            answers.push_back(send_({&one, 1}));
    } else if (!answer) {
        answers.assign(calls.size(), answer.error());
    } else {
        auto from = answer->begin();
        for (const Specs& one : specs) {
            const auto to = from + static_cast<std::ptrdiff_t>(one.size());
            answers.emplace_back(std::vector<Enqueued>(from, to));
            from = to;
        }
    }
    return answers;
}

/// The first that waits takes over; nobody works for others after its own jobs are in.
void EnqueueGroup::pass_the_lead() {
    if (waiting_.empty()) {
        --under_way_;
        return;
    }
    Call* const next = waiting_.front();
    waiting_.erase(waiting_.begin());
    next->leads = true;
    next->changed.notify_one();
}

} // namespace deadman::store::postgres
