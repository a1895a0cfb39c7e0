#include "deadman/http/work_pool.h"

namespace deadman::http {

WorkPool::WorkPool(WorkPoolOptions options) : options_(options) {
    for (int i = 0; i < options.threads; ++i)
        threads_.emplace_back([this] { run(); });
}

WorkPool::~WorkPool() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        waiting_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

bool WorkPool::submit(std::function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_ || waiting_.size() >= options_.max_waiting)
            return false;
        waiting_.push_back(std::move(work));
    }
    changed_.notify_one();
    return true;
}

void WorkPool::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_)
            return;
        auto work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        work();
        work = nullptr; // what it holds goes outside the lock
        lock.lock();
    }
}

} // namespace deadman::http
