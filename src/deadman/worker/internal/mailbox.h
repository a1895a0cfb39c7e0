#pragma once
// Mailbox: a queue between threads that a closing ends.
//
// Thread-safety: safe for concurrent use.
// Blocking:      pop waits until there is something or the box is closed.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace deadman::worker::internal {

template <typename T> class Mailbox {
  public:
    void push(T item) {
        {
            const std::lock_guard lock(mutex_);
            items_.push_back(std::move(item));
        }
        changed_.notify_one();
    }

    /// Nothing once the box is closed and empty.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
        if (items_.empty())
            return std::nullopt;
        T item = std::move(items_.front());
        items_.pop_front();
        return item;
    }

    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> items_;
    bool closed_ = false;
};

} // namespace deadman::worker::internal
