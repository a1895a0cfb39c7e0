#pragma once
// WorkPool: the threads on which store calls of requests wait, so that no event loop does.
//
// Thread-safety: safe for concurrent use.
// Blocking:      the destructor waits for what runs; what had not begun is dropped.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace deadman::http {

struct WorkPoolOptions {
    int threads = 16;
    std::size_t max_waiting = 512;
};

class WorkPool {
  public:
    explicit WorkPool(WorkPoolOptions options = {});
    ~WorkPool();

    WorkPool(const WorkPool&) = delete;
    WorkPool& operator=(const WorkPool&) = delete;

    /// False where too much waits already: answer 503. `work` must not throw.
    [[nodiscard]] bool submit(std::function<void()> work);

  private:
    void run();

    const WorkPoolOptions options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_; // guarded by mutex_
    bool stopping_ = false;                     // guarded by mutex_
    std::vector<std::thread> threads_;
};

} // namespace deadman::http
