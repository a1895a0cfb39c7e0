#pragma once
// SignalWatch: signals as calls on a thread of their own, where anything may be done.
//
// Thread-safety: the callback runs on one thread, one call at a time.
// Ownership:     make it first thing in main: threads inherit what is blocked from the thread that
//                makes them, and a signal goes to any thread that does not block it. One at a time.
// Blocking:      the destructor waits for a callback that is under way.

#include <functional>
#include <memory>
#include <vector>

#include "deadman/base/result.h"

namespace deadman::platform {

class SignalWatch {
  public:
    using Callback = std::function<void(int signal_number)>;

    /// SIGTERM and SIGINT (and SIGHUP, unless it was ignored, as under nohup): what asks a process
    /// to leave. SIGPIPE is ignored from here on: a closed connection is an error of its write.
    static base::Result<SignalWatch> for_termination(Callback callback);

    SignalWatch(SignalWatch&& other) noexcept;
    SignalWatch& operator=(SignalWatch&& other) noexcept;
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

    /// Signals act as before again.
    ~SignalWatch();

  private:
    struct State;
    explicit SignalWatch(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

} // namespace deadman::platform
