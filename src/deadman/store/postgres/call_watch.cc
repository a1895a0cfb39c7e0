#include "deadman/store/postgres/internal/call_watch.h"

#include <algorithm>

#include "deadman/platform/sockets.h"

namespace deadman::store::postgres {

CallWatch::~CallWatch() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
}

// The thread is woken only for a deadline before its next look: a busy store has always one behind
// it.
void CallWatch::set_deadline(Call& call, base::SteadyTime deadline) {
    call.deadline = deadline;
    if (deadline >= looks_at_)
        return;
    looks_at_ = deadline;
    if (!thread_.joinable())
        thread_ = std::thread([this] { run(); });
    changed_.notify_all();
}

void CallWatch::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        const base::SteadyTime planned = looks_at_;
        clock_.wait_until(lock, changed_, planned,
                          [&] { return stopping_ || looks_at_ < planned; });
        const base::SteadyTime now = clock_.steady_now();
        if (now < looks_at_)
            continue;
        looks_at_ = base::SteadyTime::max();
        for (Call& call : calls_) {
            if (call.deadline <= now) {
                platform::shutdown_socket(call.socket);
                call.cut = true;
                call.deadline = base::SteadyTime::max();
            }
            looks_at_ = std::min(looks_at_, call.deadline);
        }
    }
}

CallWatch::Guard::Guard(CallWatch& watch, int socket, base::Duration bound) : watch_(watch) {
    const base::SteadyTime deadline = watch_.clock_.steady_now() + bound;
    const std::lock_guard lock(watch_.mutex_);
    call_ = watch_.calls_.insert(watch_.calls_.end(), Call{.socket = socket});
    watch_.set_deadline(*call_, deadline);
}

CallWatch::Guard::~Guard() {
    const std::lock_guard lock(watch_.mutex_);
    watch_.calls_.erase(call_);
}

void CallWatch::Guard::restart(base::Duration bound) {
    const base::SteadyTime deadline = watch_.clock_.steady_now() + bound;
    const std::lock_guard lock(watch_.mutex_);
    if (!call_->cut)
        watch_.set_deadline(*call_, deadline);
}

void CallWatch::Guard::pause() {
    const std::lock_guard lock(watch_.mutex_);
    call_->deadline = base::SteadyTime::max();
}

bool CallWatch::Guard::was_cut() const {
    const std::lock_guard lock(watch_.mutex_);
    return call_->cut;
}

} // namespace deadman::store::postgres
