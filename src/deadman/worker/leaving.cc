#include "deadman/worker/leaving.h"

#include <algorithm>
#include <utility>

namespace deadman::worker {
namespace {

// For stopping handlers, handing back what is left, and the store's own end; beyond the grace.
constexpr base::Duration margin = std::chrono::seconds(10);
// A worker that is forced is done in two seconds, unless the store does not answer.
constexpr base::Duration forced_patience = std::chrono::seconds(5);

} // namespace

base::Result<std::unique_ptr<Leaving>> Leaving::watch(base::Clock& clock, GiveUp give_up) {
    std::unique_ptr<Leaving> made(new Leaving(clock, std::move(give_up)));
    DEADMAN_TRY(made->signals_,
                platform::SignalWatch::for_termination([self = made.get()](int) { self->ask(); }));
    // After the signals are blocked: else one could be delivered to this thread, and kill.
    made->watchdog_ = std::thread([self = made.get()] { self->watch_patience(); });
    return made;
}

Leaving::Leaving(base::Clock& clock, GiveUp give_up)
    : clock_(clock), give_up_(std::move(give_up)), drain_patience_(forced_patience) {}

Leaving::~Leaving() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    if (watchdog_.joinable())
        watchdog_.join();
}

void Leaving::ask() {
    const std::lock_guard lock(mutex_);
    last_asked_ = clock_.steady_now();
    if (++times_ == 1)
        first_asked_ = last_asked_;
    tell();
    changed_.notify_all();
}

void Leaving::expect_drain(base::Duration grace) {
    const std::lock_guard lock(mutex_);
    drain_patience_ = grace + margin;
    changed_.notify_all();
}

void Leaving::attach(Worker* worker) {
    const std::lock_guard lock(mutex_);
    worker_ = worker;
    tell();
}

bool Leaving::wait(std::optional<base::Duration> patience) {
    std::unique_lock lock(mutex_);
    const base::SteadyTime deadline =
        patience ? clock_.steady_now() + *patience : base::SteadyTime::max();
    return clock_.wait_until(lock, changed_, deadline, [this] { return times_ > 0; });
}

void Leaving::wait_out(base::Duration notice) {
    std::unique_lock lock(mutex_);
    clock_.wait_until(lock, changed_, clock_.steady_now() + notice, [this] { return times_ > 1; });
}

void Leaving::tell() {
    if (worker_ == nullptr || times_ == 0)
        return;
    times_ == 1 ? worker_->drain() : worker_->force();
}

void Leaving::watch_patience() {
    std::unique_lock lock(mutex_);
    while (!over_) {
        const base::SteadyTime ends = patience_ends();
        if (clock_.steady_now() >= ends) {
            over_ = true;
            lock.unlock();
            return give_up_();
        }
        clock_.wait_until(lock, changed_, ends, [&] { return over_ || patience_ends() != ends; });
    }
}

base::SteadyTime Leaving::patience_ends() const {
    if (times_ == 0)
        return base::SteadyTime::max();
    const base::SteadyTime drained = first_asked_ + drain_patience_;
    return times_ == 1 ? drained : std::min(drained, last_asked_ + forced_patience);
}

} // namespace deadman::worker
