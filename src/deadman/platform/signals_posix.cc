#include "deadman/platform/signals.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/system_error.h"

namespace deadman::platform {

using internal::OwnedDescriptor;
using internal::system_error;

struct SignalWatch::State {
    OwnedDescriptor signals;
    OwnedDescriptor leave;
    sigset_t mask_before{};
    Callback callback;
    std::thread thread;

    void run() {
        for (;;) {
            pollfd ready[2] = {{signals.get(), POLLIN, 0}, {leave.get(), POLLIN, 0}};
            if (::poll(ready, 2, -1) < 0)
                continue;
            if ((ready[1].revents & POLLIN) != 0)
                return;
            signalfd_siginfo info{};
            if (::read(signals.get(), &info, sizeof info) == sizeof info)
                callback(static_cast<int>(info.ssi_signo));
        }
    }
};

namespace {

bool is_ignored(int number) {
    struct sigaction action{};
    return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void ignore(int number) {
    struct sigaction action{};
    action.sa_handler = SIG_IGN;
    ::sigaction(number, &action, nullptr);
}

} // namespace

base::Result<SignalWatch> SignalWatch::for_termination(Callback callback) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    if (!is_ignored(SIGHUP))
        ::sigaddset(&set, SIGHUP);
    ignore(SIGPIPE);

    auto state = std::make_unique<State>();
    state->callback = std::move(callback);
    ::pthread_sigmask(SIG_BLOCK, &set, &state->mask_before);
    state->signals = OwnedDescriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    state->leave = OwnedDescriptor(::eventfd(0, EFD_CLOEXEC));
    if (!state->signals.is_open() || !state->leave.is_open()) {
        const int error = errno;
        ::pthread_sigmask(SIG_SETMASK, &state->mask_before, nullptr);
        return system_error("cannot watch for signals", error);
    }
    state->thread = std::thread([watched = state.get()] { watched->run(); });
    return SignalWatch(std::move(state));
}

SignalWatch::SignalWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}

SignalWatch::SignalWatch(SignalWatch&& other) noexcept = default;

SignalWatch& SignalWatch::operator=(SignalWatch&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

SignalWatch::~SignalWatch() {
    if (!state_)
        return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(state_->leave.get(), &one, sizeof one);
    state_->thread.join();
    ::pthread_sigmask(SIG_SETMASK, &state_->mask_before, nullptr);
}

} // namespace deadman::platform
