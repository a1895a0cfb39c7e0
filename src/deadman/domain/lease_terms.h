#pragma once
// LeaseTerms: how long a worker session may be trusted, and by whom. Pure arithmetic.
//
// Source: PROTOCOL S2 to S4 as docs/ARCHITECTURE.md tells it; DECISIONS 025 to 027.

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::domain {

/// Times that a deployment sets, the same for every process on one store.
struct LeaseTerms {
    base::Duration lease = std::chrono::seconds(8);
    base::Duration heartbeat = std::chrono::seconds(2);
    base::Duration sweep = std::chrono::seconds(1);
    base::Duration hint_heartbeat = std::chrono::milliseconds(500);
    base::Duration hint_grace = std::chrono::milliseconds(2000);

    /// The same proportions for another lease: what tests with short leases use.
    static LeaseTerms scaled_to(base::Duration lease);
};

/// A worker that has had no acknowledged renewal for this long cancels its handlers: lease - 3/8.
base::Duration cancel_after(const LeaseTerms& terms);

/// ... and leaves the process if a handler still runs: lease - 1/16.
base::Duration leave_after(const LeaseTerms& terms);

/// As cancel_after, for a session whose death may be inferred from a lost lock: the hint's grace
/// less one hint heartbeat, where that is sooner.
base::Duration cancel_after_with_hints(const LeaseTerms& terms);

/// A gap between ticks longer than this, three sweeps, means that the store was away: everybody
/// gets one lease of grace.
base::Duration outage_gap(const LeaseTerms& terms);

/// Refuses terms under which a live session could be reaped after a gap that is not yet an outage:
/// outage_gap + heartbeat must stay below the lease.
base::Status validate_terms(const LeaseTerms& terms);

} // namespace deadman::domain
