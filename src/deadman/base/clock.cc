#include "deadman/base/clock.h"

#include <algorithm>
#include <ctime>

namespace deadman::base {
namespace {

using namespace std::chrono_literals;

// A condition variable cannot wait on CLOCK_BOOTTIME; short waits re-read the clock, so that a
// suspend is noticed at most this late.
constexpr auto longest_wait = 200ms;

} // namespace

TimePoint SystemClock::now() const {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady_now() const {
#ifdef CLOCK_BOOTTIME
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return SteadyTime{Duration{time.tv_sec * 1'000'000 + time.tv_nsec / 1'000}};
#else
    return SteadyTime{
        std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
#endif
}

bool SystemClock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& condition,
                             SteadyTime deadline, const std::function<bool()>& predicate) {
    while (!predicate()) {
        const SteadyTime now = steady_now();
        if (now >= deadline)
            return false;
        const Duration left = std::min<Duration>(deadline - now, longest_wait);
        condition.wait_for(lock, left);
    }
    return true;
}

SimulatedClock::SimulatedClock(TimePoint start) : wall_(start) {}

TimePoint SimulatedClock::now() const {
    const std::lock_guard lock(mutex_);
    return wall_;
}

SteadyTime SimulatedClock::steady_now() const {
    const std::lock_guard lock(mutex_);
    return steady_;
}

bool SimulatedClock::wait_until(std::unique_lock<std::mutex>& lock,
                                std::condition_variable& condition, SteadyTime deadline,
                                const std::function<bool()>& predicate) {
    // The sleeper's own condition is signalled by its owner; simulated time moves under another
    // lock. Looking again every real millisecond keeps the two independent.
    while (!predicate()) {
        if (steady_now() >= deadline)
            return false;
        condition.wait_for(lock, std::chrono::milliseconds(1));
    }
    return true;
}

void SimulatedClock::advance(Duration by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
    steady_ += by;
}

void SimulatedClock::step_wall(Duration by) {
    const std::lock_guard lock(mutex_);
    wall_ += by;
}

} // namespace deadman::base
