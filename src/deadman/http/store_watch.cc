#include "deadman/http/store_watch.h"

#include <exception>

namespace deadman::http {
namespace {

StoreHealth ask_store(store::JobStore& store) {
    StoreHealth health;
    try {
        auto findings = store.readiness();
        if (findings)
            health.findings = std::move(*findings);
        else
            health = {false, findings.error().message, {}};
    } catch (const std::exception& error) {
        health = {false, error.what(), {}};
    }
    return health;
}

} // namespace

StoreWatch::StoreWatch(store::JobStore& store, base::Clock& clock, StoreWatchOptions options)
    : store_(store), clock_(clock), options_(options), thread_([this] { run(); }) {}

StoreWatch::~StoreWatch() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void StoreWatch::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        asking_ = true;
        asked_at_ = clock_.steady_now();
        lock.unlock();
        StoreHealth health = ask_store(store_);
        lock.lock();
        asking_ = false;
        last_ = std::move(health);
        clock_.wait_until(lock, changed_, asked_at_ + options_.ask_every,
                          [this] { return stopping_ || look_again_; });
        look_again_ = false;
    }
}

bool StoreWatch::is_stuck() const {
    return asking_ && clock_.steady_now() - asked_at_ > options_.stuck_after;
}

StoreHealth StoreWatch::health() const {
    const std::lock_guard lock(mutex_);
    if (is_stuck())
        return {false, "the store does not answer", last_.findings};
    return last_;
}

bool StoreWatch::is_up() const {
    const std::lock_guard lock(mutex_);
    return last_.is_up && !is_stuck();
}

void StoreWatch::look_again() {
    {
        const std::lock_guard lock(mutex_);
        look_again_ = true;
    }
    changed_.notify_all();
}

} // namespace deadman::http
