#include "deadman/domain/lease_terms.h"

#include <algorithm>

namespace deadman::domain {

LeaseTerms LeaseTerms::scaled_to(base::Duration lease) {
    return {.lease = lease,
            .heartbeat = lease / 4,
            .sweep = lease / 8,
            .hint_heartbeat = lease / 16,
            .hint_grace = lease / 16 * 5};
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
    return terms.sweep * 2;
}

} // namespace deadman::domain
