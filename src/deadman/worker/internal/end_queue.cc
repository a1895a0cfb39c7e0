#include "deadman/worker/internal/end_queue.h"

#include <algorithm>
#include <utility>

#include "deadman/base/check.h"

namespace deadman::worker::internal {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration first_pause = 20ms;
constexpr base::Duration longest_pause = 2s;
constexpr base::Duration first_busy_pause = 10ms;
constexpr base::Duration longest_busy_pause = 500ms;
constexpr base::Duration refused_pause = 5s;

base::Duration busy_pause(int answers) {
    return std::min(first_busy_pause * (1 << std::min(answers, 6)), longest_busy_pause);
}

bool worth_repeating(base::ErrorCode code) {
    return code == base::ErrorCode::unavailable || code == base::ErrorCode::exhausted ||
           code == base::ErrorCode::outcome_unknown;
}

} // namespace

EndQueue::EndQueue(int max_batch)
    : max_batch_(static_cast<std::size_t>(max_batch)), limit_(max_batch_),
      backoff_(first_pause, longest_pause) {}

void EndQueue::add(store::RunEnd end, bool asks_about_transaction) {
    Entry entry;
    entry.end = std::move(end);
    entry.asks_about_transaction = asks_about_transaction;
    waiting_.push_back(std::move(entry));
}

std::optional<EndBatch> EndQueue::flush(base::SteadyTime now) {
    if (in_flight_no_ || now < not_before_)
        return std::nullopt;
    EndBatch batch;
    std::deque<Entry> later;
    while (!waiting_.empty() && batch.ends.size() < limit_) {
        Entry entry = std::move(waiting_.front());
        waiting_.pop_front();
        if (entry.not_before > now) {
            later.push_back(std::move(entry));
            continue;
        }
        batch.ends.push_back(entry.end);
        in_flight_.push_back(std::move(entry));
    }
    for (Entry& entry : later)
        waiting_.push_back(std::move(entry));
    if (batch.ends.empty())
        return std::nullopt;
    batch.no = next_no_++;
    in_flight_no_ = batch.no;
    return batch;
}

EndAnswer EndQueue::answered(base::SteadyTime now, std::int64_t batch_no,
                             const base::Result<std::vector<domain::Verdict>>& result,
                             base::Random& random) {
    EndAnswer answer;
    if (in_flight_no_ != batch_no)
        return answer; // of a session that has been given up
    in_flight_no_.reset();
    if (result) {
        DEADMAN_CHECK(result->size() == in_flight_.size());
        std::vector<Entry> entries = std::exchange(in_flight_, {});
        for (std::size_t i = 0; i < entries.size(); ++i)
            settle(now, std::move(entries[i]), (*result)[i], answer);
        backoff_.reset();
        limit_ = std::min(limit_ * 2, max_batch_);
        return answer;
    }
    answer.failure = result.error().message;
    answer.session_lost = result.error().code == base::ErrorCode::fenced;
    if (answer.session_lost)
        return answer; // the owner drops everything
    if (!worth_repeating(result.error().code))
        narrow_down(now);
    put_back();
    not_before_ = now + backoff_.next(random);
    return answer;
}

void EndQueue::settle(base::SteadyTime now, Entry entry, domain::Verdict verdict,
                      EndAnswer& answer) {
    if (verdict == domain::Verdict::busy) {
        entry.not_before = now + busy_pause(entry.busy_answers++);
        waiting_.push_back(std::move(entry));
        return;
    }
    answer.settled.push_back(
        {entry.end.run, entry.end.answer.kind, verdict, entry.asks_about_transaction});
}

// One end that the store cannot take must not hold up the rest: halve the batch until it is alone,
// then send an answer that any store can take in its place.
void EndQueue::narrow_down(base::SteadyTime now) {
    if (in_flight_.size() > 1) {
        limit_ = std::max<std::size_t>(1, in_flight_.size() / 2);
        return;
    }
    Entry& entry = in_flight_.front();
    if (entry.refused) {
        entry.not_before = now + refused_pause;
        return;
    }
    entry.refused = true;
    domain::Answer replacement;
    replacement.kind = domain::AnswerKind::error;
    replacement.reason = "answer_refused";
    replacement.message = "the store could not record the handler's answer";
    replacement.delay = 10s;
    entry.end.answer = replacement;
}

void EndQueue::put_back() {
    for (auto entry = in_flight_.rbegin(); entry != in_flight_.rend(); ++entry)
        waiting_.push_front(std::move(*entry));
    in_flight_.clear();
}

std::vector<store::RunKey> EndQueue::drop_all() {
    std::vector<store::RunKey> runs;
    put_back();
    for (const Entry& entry : waiting_)
        runs.push_back(entry.end.run);
    waiting_.clear();
    in_flight_no_.reset();
    not_before_ = {};
    limit_ = max_batch_;
    return runs;
}

base::SteadyTime EndQueue::next_flush() const {
    if (in_flight_no_ || waiting_.empty())
        return base::SteadyTime::max();
    base::SteadyTime first = base::SteadyTime::max();
    for (const Entry& entry : waiting_)
        first = std::min(first, entry.not_before);
    return std::max(first, not_before_);
}

} // namespace deadman::worker::internal
