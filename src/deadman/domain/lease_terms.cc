#include "deadman/domain/lease_terms.h"

#include <algorithm>

namespace deadman::domain {

LeaseTerms LeaseTerms::scaled_to(base::Duration lease) {
    return {.lease = lease,
            .heartbeat = lease / 4,
            .sweep = lease / 8,
            .hint_heartbeat = lease / 16,
            .hint_grace = lease / 4};
}

base::Duration cancel_after(const LeaseTerms& terms) {
    return terms.lease - terms.lease / 8 * 3;
}

base::Duration leave_after(const LeaseTerms& terms) {
    return terms.lease - terms.lease / 16;
}

base::Duration cancel_after_with_hints(const LeaseTerms& terms) {
    const base::Duration by_hint =
        std::max(terms.hint_grace - terms.hint_heartbeat, base::Duration::zero());
    return std::min(cancel_after(terms), by_hint);
}

base::Duration outage_gap(const LeaseTerms& terms) {
    return terms.sweep * 3;
}

base::Status validate_terms(const LeaseTerms& terms) {
    using base::ErrorCode;
    const base::Duration zero = base::Duration::zero();
    if (terms.lease < std::chrono::milliseconds(500))
        return base::fail(ErrorCode::invalid_argument, "lease must be at least 500ms");
    if (terms.heartbeat <= zero || terms.sweep <= zero || terms.hint_heartbeat <= zero)
        return base::fail(ErrorCode::invalid_argument, "heartbeat and sweep must be positive");
    if (terms.hint_grace < terms.hint_heartbeat * 2)
        return base::fail(ErrorCode::invalid_argument,
                          "hint_grace must be at least two hint heartbeats");
    if (outage_gap(terms) + terms.heartbeat >= terms.lease)
        return base::fail(ErrorCode::invalid_argument,
                          "three sweeps and a heartbeat must be shorter than the lease");
    return {};
}

} // namespace deadman::domain
