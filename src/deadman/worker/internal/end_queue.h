#pragma once
// EndQueue: answers on their way to the store. One batch is under way at a time; what ends
// meanwhile goes with the next, so that a lone end is never held back and many travel together.
//
// Contract: an entry leaves the queue only with a final verdict, or when the session is lost.

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/base/result.h"
#include "deadman/store/job_types.h"
#include "deadman/worker/internal/backoff.h"

namespace deadman::worker::internal {

struct EndBatch {
    std::int64_t no = 0;
    std::vector<store::RunEnd> ends;
};

struct SettledEnd {
    store::RunKey run;
    domain::AnswerKind answer = domain::AnswerKind::succeeded;
    domain::Verdict verdict = domain::Verdict::ok;
    bool asked_about_transaction = false;
};

struct EndAnswer {
    std::vector<SettledEnd> settled;
    bool session_lost = false;
    std::string failure; // not empty: the call failed and will be repeated
};

class EndQueue {
  public:
    explicit EndQueue(int max_batch);

    /// `asks_about_transaction`: the run's own transaction has an unknown outcome, and the verdict
    /// on this end (`repeat`, or not) tells it.
    void add(store::RunEnd end, bool asks_about_transaction = false);

    /// The next batch, if the line is free and something may be sent.
    std::optional<EndBatch> flush(base::SteadyTime now);

    EndAnswer answered(base::SteadyTime now, std::int64_t batch_no,
                       const base::Result<std::vector<domain::Verdict>>& result,
                       base::Random& random);

    /// Forgets everything and names it; a late answer is ignored.
    std::vector<store::RunKey> drop_all();

    bool empty() const {
        return waiting_.empty() && !in_flight_no_;
    }

    std::size_t size() const {
        return waiting_.size() + in_flight_.size();
    }

    /// When flush may next have something to give; max() where only an answer can change that.
    base::SteadyTime next_flush() const;

  private:
    struct Entry {
        store::RunEnd end;
        bool asks_about_transaction = false;
        base::SteadyTime not_before{};
        int busy_answers = 0;
        bool refused = false; // the store cannot take it, even alone
    };

    void put_back();
    void settle(base::SteadyTime now, Entry entry, domain::Verdict verdict, EndAnswer& answer);
    void narrow_down(base::SteadyTime now);

    std::deque<Entry> waiting_;
    std::vector<Entry> in_flight_;
    std::optional<std::int64_t> in_flight_no_;
    std::int64_t next_no_ = 1;
    std::size_t max_batch_;
    std::size_t limit_; // below max_batch_ while looking for the end that makes a batch fail
    base::SteadyTime not_before_{};
    Backoff backoff_;
};

} // namespace deadman::worker::internal
