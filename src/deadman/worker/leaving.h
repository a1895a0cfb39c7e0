#pragma once
// Leaving: what SIGTERM and SIGINT make of a process that works until it is told to leave.
//
// Contract:      the first signal drains the worker that is attached, a second forces it. A process
//                that has been told to leave does: where it is still there when its patience ends
//                (a call to a store that does not answer), it is ended. What it held comes back
//                by its lease.
// Thread-safety: safe for concurrent use.
// Ownership:     one at a time, made before other threads are, and gone after them.
// Blocking:      wait and wait_out only.

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/signals.h"
#include "deadman/worker/worker.h"

namespace deadman::worker {

class Leaving {
  public:
    /// Ends the process at once.
    using GiveUp = std::function<void()>;

    static base::Result<std::unique_ptr<Leaving>> watch(base::Clock& clock, GiveUp give_up);
    ~Leaving();

    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    /// As a signal does.
    void ask();

    /// From now on there is work to drain, which may take this long; until now nothing was to be
    /// waited for.
    void expect_drain(base::Duration grace);

    void attach(Worker* worker);

    /// Waits until the first signal, or for `patience`; whether one came.
    bool wait(std::optional<base::Duration> patience = std::nullopt);

    /// Waits for `notice`, less where a second signal comes.
    void wait_out(base::Duration notice);

  private:
    Leaving(base::Clock& clock, GiveUp give_up);

    void tell();
    void watch_patience();
    base::SteadyTime patience_ends() const;

    base::Clock& clock_;
    const GiveUp give_up_;
    std::mutex mutex_;
    std::condition_variable changed_;
    Worker* worker_ = nullptr;      // guarded by mutex_
    int times_ = 0;                 // guarded by mutex_
    base::Duration drain_patience_; // guarded by mutex_
    base::SteadyTime first_asked_;  // guarded by mutex_
    base::SteadyTime last_asked_;   // guarded by mutex_
    bool over_ = false;             // guarded by mutex_
    std::optional<platform::SignalWatch> signals_;
    std::thread watchdog_;
};

} // namespace deadman::worker
