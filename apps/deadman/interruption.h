#pragma once
// Interruption: Ctrl-C and SIGTERM as a flag, and waits that they cut short.
//
// Thread-safety: safe for concurrent use.
// Ownership:     one at a time, made before other threads are.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/signals.h"

namespace deadman::cli {

class Interruption {
  public:
    static base::Result<std::unique_ptr<Interruption>> watch(base::Clock& clock);

    bool happened() const;

    /// False when it was cut short.
    bool pause(base::Duration duration);

    /// While it lives nothing can look at the flag, so an interruption ends the process at once,
    /// with 130 and the farewell on standard error.
    class Blocked {
      public:
        explicit Blocked(Interruption& interruption);
        ~Blocked();
        Blocked(const Blocked&) = delete;
        Blocked& operator=(const Blocked&) = delete;

      private:
        Interruption& interruption_;
    };

    void set_farewell(std::string farewell);

  private:
    explicit Interruption(base::Clock& clock) : clock_(clock) {}

    base::Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool happened_ = false;                // guarded by mutex_
    bool blocked_ = false;                 // guarded by mutex_
    std::string farewell_ = "interrupted"; // guarded by mutex_
    std::unique_ptr<platform::SignalWatch> watch_;
};

} // namespace deadman::cli
