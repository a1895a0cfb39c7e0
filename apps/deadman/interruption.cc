#include "apps/deadman/interruption.h"

namespace deadman::cli {

base::Result<std::unique_ptr<Interruption>> Interruption::watch(base::Clock& clock) {
    std::unique_ptr<Interruption> made(new Interruption(clock));
    DEADMAN_TRY(auto signals, platform::SignalWatch::for_termination([self = made.get()](int) {
                    const std::lock_guard lock(self->mutex_);
                    self->happened_ = true;
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

} // namespace deadman::cli
