#pragma once
// Upkeep: returning the runs of dead sessions, moving due jobs, sweeping, retention.
//
// Who does it is decided by Leadership: a lock that falls at its holder's death, and a row with an
// expiry for a holder that was stopped. Leadership is an economy, not a safety: two leaders at once
// cost time and change nothing (DECISIONS 024).

#include <cstdint>

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/domain/blame.h"
#include "deadman/domain/job.h"
#include "deadman/domain/lease_terms.h"

namespace deadman::store {

struct UpkeepRequest {
    domain::LeaseTerms terms;
    domain::CrashTerms crash;
    base::Duration retention = domain::default_retention;
    int batch = 1'000; // rows per transaction
};

struct UpkeepReport {
    bool still_leader = true;
    bool grace = false; // after an outage or a clock step: nobody is reaped
    std::int64_t sessions_lapsed = 0;
    std::int64_t runs_returned = 0; // lapses that made a job claimable again
    std::int64_t quarantined = 0;
    std::int64_t promoted = 0; // due jobs moved to pending
    std::int64_t swept = 0;    // rows found behind the cursors
    std::int64_t pruned = 0;   // jobs past their retention
};

/// Held while the object lives; gives it up when destroyed.
///
/// Thread-safety: one thread at a time.
class Leadership {
  public:
    virtual ~Leadership() = default;

    /// One sweep, in short transactions: tick, mark lapsed sessions, return their runs, promote due
    /// jobs, sweep, prune. REQUIRES: called about every request.terms.sweep; a longer gap counts as
    /// an outage and gives everybody grace.
    virtual base::Result<UpkeepReport> sweep(const UpkeepRequest& request) = 0;
};

} // namespace deadman::store
