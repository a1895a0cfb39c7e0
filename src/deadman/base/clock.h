#pragma once
// Clock: where time comes from. Everything that reads time is handed one of these.
//
// Thread-safety: safe for concurrent use.

#include <condition_variable>
#include <functional>
#include <mutex>

#include "deadman/base/time.h"

namespace deadman::base {

class Clock {
  public:
    virtual ~Clock() = default;

    /// UTC wall time. May step.
    virtual TimePoint now() const = 0;

    /// Never steps back; counts suspend (CLOCK_BOOTTIME).
    virtual SteadyTime steady_now() const = 0;

    /// Waits on `condition` until `predicate` holds or `deadline` passes; returns the predicate.
    /// REQUIRES: `lock` holds the mutex that guards what `predicate` reads.
    virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                            SteadyTime deadline, const std::function<bool()>& predicate) = 0;
};

/// The machine's clocks.
class SystemClock final : public Clock {
  public:
    TimePoint now() const override;
    SteadyTime steady_now() const override;
    bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                    SteadyTime deadline, const std::function<bool()>& predicate) override;
};

/// A clock that moves when told to; sleepers wake when it passes their deadline.
class SimulatedClock final : public Clock {
  public:
    explicit SimulatedClock(TimePoint start = from_micros(1'700'000'000'000'000));

    TimePoint now() const override;
    SteadyTime steady_now() const override;
    bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                    SteadyTime deadline, const std::function<bool()>& predicate) override;

    /// Moves both clocks forward.
    void advance(Duration by);

    /// Steps the wall clock alone, as an operator or NTP would.
    void step_wall(Duration by);

  private:
    mutable std::mutex mutex_;
    TimePoint wall_;
    SteadyTime steady_{};
};

} // namespace deadman::base
