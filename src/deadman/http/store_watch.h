#pragma once
// StoreWatch: whether the store answers, asked on a thread of its own, so that a request need not
// wait to find out.
//
// Contract:      is_up() turns false at most about ask_every + stuck_after after the store went
// away,
//                also where its calls neither fail nor return.
// Thread-safety: safe for concurrent use.
// Ownership:     store and clock must outlive it.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"

namespace deadman::http {

struct StoreWatchOptions {
    base::Duration ask_every = std::chrono::milliseconds(500);
    base::Duration stuck_after = std::chrono::milliseconds(800); // a question that long is a no
};

struct StoreHealth {
    bool is_up = true;
    std::string message; // why not
    std::vector<store::Finding> findings;
};

class StoreWatch {
  public:
    StoreWatch(store::JobStore& store, base::Clock& clock, StoreWatchOptions options = {});

    /// Waits for a question that is under way.
    ~StoreWatch();

    StoreWatch(const StoreWatch&) = delete;
    StoreWatch& operator=(const StoreWatch&) = delete;

    StoreHealth health() const;

    bool is_up() const;

    /// Asks at once instead of at the next turn: after a call that failed.
    void look_again();

  private:
    void run();
    bool is_stuck() const;

    store::JobStore& store_;
    base::Clock& clock_;
    const StoreWatchOptions options_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    StoreHealth last_;          // guarded by mutex_
    base::SteadyTime asked_at_; // guarded by mutex_
    bool asking_ = false;       // guarded by mutex_
    bool look_again_ = false;   // guarded by mutex_
    bool stopping_ = false;     // guarded by mutex_
    std::thread thread_;
};

} // namespace deadman::http
