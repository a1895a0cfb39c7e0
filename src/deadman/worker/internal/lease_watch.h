#pragma once
// LeaseWatch: how long the worker may trust its own lease (PROTOCOL S4). Counted from when the last
// acknowledged renewal was sent: the store may have counted from any moment after that.

#include <algorithm>

#include "deadman/base/time.h"
#include "deadman/store/session.h"

namespace deadman::worker::internal {

class LeaseWatch {
  public:
    void begin(const store::Session& session, base::SteadyTime sent_at) {
        session_ = session;
        acknowledged_ = sent_at;
        stopped_ = base::SteadyTime::max();
    }

    void acknowledge(base::SteadyTime sent_at) {
        acknowledged_ = std::max(acknowledged_, sent_at);
    }

    /// Handlers have been told to stop.
    void stop(base::SteadyTime now) {
        stopped_ = std::min(stopped_, now);
    }

    base::SteadyTime cancel_at() const {
        return acknowledged_ + session_.cancel_after;
    }

    /// A process that was itself stopped notices both limits at once; its handlers still get a
    /// moment, a sixteenth of the lease, to see the stop.
    base::SteadyTime leave_at() const {
        const base::SteadyTime by_lease = acknowledged_ + session_.leave_after;
        if (stopped_ == base::SteadyTime::max())
            return by_lease;
        return std::max(by_lease, stopped_ + (session_.leave_after - session_.cancel_after) / 5);
    }

    bool uncertain(base::SteadyTime now) const {
        return now >= cancel_at();
    }

    base::Duration renew_every() const {
        return session_.renew_every;
    }

  private:
    store::Session session_;
    base::SteadyTime acknowledged_{};
    base::SteadyTime stopped_ = base::SteadyTime::max();
};

} // namespace deadman::worker::internal
