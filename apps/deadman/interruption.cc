#include "apps/deadman/interruption.h"

#include <cstdlib>
#include <utility>

#include "apps/deadman/output.h"

namespace deadman::cli {

base::Result<std::unique_ptr<Interruption>> Interruption::watch(base::Clock& clock) {
    std::unique_ptr<Interruption> made(new Interruption(clock));
    DEADMAN_TRY(auto signals, platform::SignalWatch::for_termination([self = made.get()](int) {
                    const std::lock_guard lock(self->mutex_);
                    self->happened_ = true;
                    if (self->blocked_) {
                        say(self->farewell_);
                        std::_Exit(exit_interrupted);
                    }
                    self->changed_.notify_all();
                }));
    made->watch_ = std::make_unique<platform::SignalWatch>(std::move(signals));
    return made;
}

bool Interruption::happened() const {
    const std::lock_guard lock(mutex_);
    return happened_;
}

bool Interruption::pause(base::Duration duration) {
    std::unique_lock lock(mutex_);
    return !clock_.wait_until(lock, changed_, clock_.steady_now() + duration,
                              [this] { return happened_; });
}

Interruption::Blocked::Blocked(Interruption& interruption) : interruption_(interruption) {
    const std::lock_guard lock(interruption_.mutex_);
    // One that came just before is seen by nobody until the wait is over.
    if (interruption_.happened_) {
        say(interruption_.farewell_);
        std::_Exit(exit_interrupted);
    }
    interruption_.blocked_ = true;
}

Interruption::Blocked::~Blocked() {
    const std::lock_guard lock(interruption_.mutex_);
    interruption_.blocked_ = false;
}

void Interruption::set_farewell(std::string farewell) {
    const std::lock_guard lock(mutex_);
    farewell_ = std::move(farewell);
}

} // namespace deadman::cli
