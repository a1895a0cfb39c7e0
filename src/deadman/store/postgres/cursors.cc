#include "deadman/store/postgres/internal/cursors.h"

#include <algorithm>

namespace deadman::store::postgres {

const CursorMap& Cursors::earlier(base::SteadyTime now) {
    if (now - snapshot_at_ >= look_back) {
        before_ = std::move(snapshot_);
        snapshot_ = current_;
        snapshot_at_ = now;
    }
    return before_;
}

void Cursors::advance(const CursorPlace& place, int lane, std::int64_t ticket) {
    if (lane != 0 && lane != 1)
        return; // suspects are looked for from the start
    CursorPair& pair = current_[place];
    std::int64_t& at = lane == 0 ? pair.returned : pair.fresh;
    if (ticket > at) {
        at = ticket;
        changed_ = true;
    }
}

void Cursors::lower(int queue, std::int64_t ticket) {
    for (auto& [place, pair] : current_) {
        if (place.queue != queue)
            continue;
        pair.returned = std::min(pair.returned, ticket - 1);
        pair.fresh = std::min(pair.fresh, ticket - 1);
    }
}

bool Cursors::take_changed() {
    return std::exchange(changed_, false);
}

} // namespace deadman::store::postgres
