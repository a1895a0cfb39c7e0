#pragma once
// The two kinds of time. Wall time is stored and compared by the store alone; durations are
// measured on a steady clock that also runs while the machine is suspended.

#include <chrono>
#include <cstdint>

namespace deadman::base {

using Duration = std::chrono::microseconds;

/// UTC wall time in microseconds since 1970.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// A tag for CLOCK_BOOTTIME: counts suspend, the same for all processes of one boot of one machine.
struct BootClock {
    using rep = Duration::rep;
    using period = Duration::period;
    using duration = Duration;
    using time_point = std::chrono::time_point<BootClock, Duration>;
    static constexpr bool is_steady = true;
};

using SteadyTime = BootClock::time_point;

inline std::int64_t to_micros(TimePoint time) {
    return time.time_since_epoch().count();
}

inline TimePoint from_micros(std::int64_t micros) {
    return TimePoint{Duration{micros}};
}

} // namespace deadman::base
