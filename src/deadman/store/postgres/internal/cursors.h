#pragma once
// Cursors: how far one session has read `ready`, per queue and priority (PROTOCOL C3).
//
// A claim starts behind them. What becomes visible behind them is found in four ways: a wake-up
// lowers them, a short claim looks again from where they stood a while ago, the sweeper moves it,
// or a new session starts at the common mark.
//
// Thread-safety: external synchronization.

#include <cstdint>
#include <map>
#include <utility>

#include "deadman/base/time.h"

namespace deadman::store::postgres {

struct CursorPlace {
    int queue = 0;
    int priority = 0;

    friend auto operator<=>(const CursorPlace&, const CursorPlace&) = default;
};

/// The last ticket seen in each lane; nothing: where the common mark is.
struct CursorPair {
    std::int64_t returned = -1;
    std::int64_t fresh = -1;

    friend bool operator==(const CursorPair&, const CursorPair&) = default;
};

using CursorMap = std::map<CursorPlace, CursorPair>;

class Cursors {
  public:
    static constexpr base::Duration look_back = std::chrono::seconds(1);

    const CursorMap& current() const {
        return current_;
    }

    /// Where they stood `look_back` to twice that ago.
    const CursorMap& earlier(base::SteadyTime now);

    void advance(const CursorPlace& place, int lane, std::int64_t ticket);

    /// Something at `ticket` of the queue may have been passed.
    void lower(int queue, std::int64_t ticket);

    /// True once after each change: then they are worth publishing.
    bool take_changed();

  private:
    CursorMap current_;
    CursorMap snapshot_;
    CursorMap before_;
    base::SteadyTime snapshot_at_{};
    bool changed_ = false;
};

} // namespace deadman::store::postgres
