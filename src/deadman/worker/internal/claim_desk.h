#pragma once
// ClaimDesk: the worker's one line to the store's claims, and what is known of each claim number.
//
// Contract: PROTOCOL C1. One claim number is open at a time. One whose outcome is unknown is read
// back;
//           found empty, it is repeated under the same number, so that two tries can only collide;
//           a collision is read back. A number is closed once its runs are known.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/base/result.h"
#include "deadman/store/job_types.h"
#include "deadman/worker/internal/backoff.h"

namespace deadman::worker::internal {

using RunKeys = std::set<store::RunKey>;

struct ReadBack {
    std::int64_t claim_no = 0;
};

struct ClaimAnswer {
    bool stale = true;    // not the answer awaited
    bool closed = false;  // the claim's runs are known: `runs`
    bool suspect = false; // what had been asked for
    bool orphans = false; // `runs` are of a lease that a renewal has named
    bool session_lost = false;
    std::vector<store::Claimed> runs;
    std::string failure; // not empty: the call failed; the desk knows what to do next
};

class ClaimDesk {
  public:
    ClaimDesk();

    /// A call is under way, so nothing may be sent.
    bool calling() const {
        return calling_;
    }

    bool waiting_for_work() const {
        return waiting_;
    }

    /// A claim number is open, or orphans are to be read.
    bool unsettled() const {
        return open_.has_value() || !orphans_.empty();
    }

    /// Claims from this number on may be under way: what a renewal says of them means nothing.
    std::int64_t first_uncertain_no() const {
        return open_ ? open_->claim_no : next_no_;
    }

    base::SteadyTime not_before() const {
        return not_before_;
    }

    /// REQUIRES: nothing open, not calling.
    store::ClaimRequest open(const std::vector<std::string>& queues, int max, bool suspect);

    /// What the open claim or an orphan needs now. `settle_only`: no job may be taken any more, so
    /// a claim that took nothing is closed instead of repeated.
    std::optional<ReadBack> next_read_back(base::SteadyTime now, const RunKeys& held);
    std::optional<store::ClaimRequest> next_repeat(base::SteadyTime now, bool settle_only);

    ClaimAnswer claim_answered(base::SteadyTime now, std::int64_t claim_no,
                               base::Result<std::vector<store::Claimed>> result,
                               base::Random& random);
    ClaimAnswer read_back(base::SteadyTime now, std::int64_t claim_no,
                          base::Result<std::vector<store::Claimed>> result, const RunKeys& held,
                          base::Random& random);

    void wait_for_work() {
        waiting_ = true;
    }

    void woken() {
        waiting_ = false;
    }

    void add_orphan(std::int64_t claim_no);

    /// The session is over: its claims mean nothing any more. Numbers go on.
    void forget();

  private:
    enum class Step { repeat, read_back };

    ClaimAnswer failed(base::SteadyTime now, const base::Error& error, base::Random& random);

    std::optional<store::ClaimRequest> open_;
    Step step_ = Step::repeat;
    bool number_spent_ = false; // the store has seen it: it cannot be repeated with effect
    bool calling_ = false;
    bool waiting_ = false;
    std::optional<std::int64_t> reading_;
    RunKeys held_when_read_;
    std::set<std::int64_t> orphans_;
    std::int64_t next_no_ = 1;
    base::SteadyTime not_before_{};
    Backoff backoff_;
};

} // namespace deadman::worker::internal
