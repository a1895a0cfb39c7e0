#pragma once
// SuspectTurns: when to ask for a suspect (PROTOCOL C5). A suspect runs alone, so asking for one
// costs nothing in an idle worker and a drained worker otherwise. An idle worker asks every few
// seconds; a busy one drains for it now and then: rarer while it finds none, more patient while it
// does not get drained, so that a suspect waits long at worst, and never for ever.

#include <algorithm>
#include <optional>

#include "deadman/base/random.h"
#include "deadman/base/time.h"
#include "deadman/worker/internal/backoff.h"
#include "deadman/worker/worker_options.h"

namespace deadman::worker::internal {

class SuspectTurns {
  public:
    explicit SuspectTurns(const WorkerOptions& options)
        : every_(options.suspect_every), at_most_every_(options.suspect_at_most_every),
          first_patience_(options.suspect_drain_patience), interval_(every_),
          patience_(first_patience_),
          idle_pause_(options.idle_patience / 4, options.idle_patience) {}

    void begin(base::SteadyTime now, base::Random& random) {
        schedule(now, random);
        idle_from_ = now;
    }

    /// An idle worker may ask now.
    bool idle_due(base::SteadyTime now) const {
        return now >= idle_from_;
    }

    /// A busy worker is to claim nothing else now.
    bool draining(base::SteadyTime now, base::Random& random) {
        if (!turn_until_ && now >= next_turn_)
            turn_until_ = now + patience_;
        if (turn_until_ && now >= *turn_until_) {
            patience_ *= 2;
            schedule(now, random);
        }
        return turn_until_.has_value();
    }

    base::SteadyTime idle_from() const {
        return idle_from_;
    }

    /// When draining() may answer differently.
    base::SteadyTime next_change() const {
        return turn_until_.value_or(next_turn_);
    }

    void found(base::SteadyTime now, base::Random& random) {
        interval_ = std::min(every_, first_patience_); // where one is, there are often more
        patience_ = first_patience_;
        idle_pause_.reset();
        idle_from_ = now;
        schedule(now, random);
    }

    void missed(base::SteadyTime now, base::Random& random) {
        interval_ = std::min(std::max(every_, interval_ * 2), at_most_every_);
        patience_ = first_patience_;
        idle_from_ = now + idle_pause_.next(random);
        schedule(now, random);
    }

  private:
    void schedule(base::SteadyTime now, base::Random& random) {
        turn_until_.reset();
        const double factor = 0.5 + random.unit();
        next_turn_ = now + base::Duration{static_cast<base::Duration::rep>(
                               static_cast<double>(interval_.count()) * factor)};
    }

    base::Duration every_;
    base::Duration at_most_every_;
    base::Duration first_patience_;
    base::Duration interval_;
    base::Duration patience_;
    Backoff idle_pause_;
    base::SteadyTime idle_from_{};
    base::SteadyTime next_turn_{};
    std::optional<base::SteadyTime> turn_until_;
};

} // namespace deadman::worker::internal
