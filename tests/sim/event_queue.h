#pragma once
// EventQueue: what happens next, on simulated time. Events at the same time come in the order in
// which they were put in, so that a seed replays.

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "deadman/base/clock.h"

namespace deadman::sim {

class EventQueue {
  public:
    explicit EventQueue(base::SimulatedClock& clock) : clock_(clock) {}

    void after(base::Duration delay, std::function<void()> what) {
        events_.push({clock_.steady_now() + std::max(delay, base::Duration::zero()), next_no_++,
                      std::move(what)});
    }

    bool empty() const {
        return events_.empty();
    }

    /// Moves the clock to the next event and runs it.
    void step() {
        Event event = std::move(const_cast<Event&>(events_.top()));
        events_.pop();
        if (const base::Duration wait = event.at - clock_.steady_now(); wait > wait.zero())
            clock_.advance(wait);
        event.what();
    }

  private:
    struct Event {
        base::SteadyTime at;
        std::uint64_t no;
        std::function<void()> what;

        bool operator<(const Event& other) const {
            return std::pair(at, no) > std::pair(other.at, other.no);
        }
    };

    base::SimulatedClock& clock_;
    std::priority_queue<Event> events_;
    std::uint64_t next_no_ = 0;
};

} // namespace deadman::sim
