#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "deadman/platform/command.h"
#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/system_error.h"
#include "deadman/platform/output_keeper.h"

namespace deadman::platform {
namespace {

using namespace std::chrono_literals;
using internal::OwnedDescriptor;

void make_non_blocking(int descriptor) {
    if (descriptor >= 0)
        ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

/// Wakes the poll loop when a stop is asked for.
class StopWaker {
  public:
    explicit StopWaker(const std::stop_token& stop)
        : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Wake{event_.get()}) {}

    int descriptor() const {
        return event_.get();
    }

  private:
    struct Wake {
        int descriptor;

        void operator()() const {
            const std::uint64_t one = 1;
            [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
        }
    };

    OwnedDescriptor event_;
    std::stop_callback<Wake> callback_;
};

/// Keeps a write to a child that has closed its input from killing this process. For one thread.
class BrokenPipesIgnored {
  public:
    BrokenPipesIgnored() {
        sigemptyset(&broken_pipe_);
        sigaddset(&broken_pipe_, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
    }

    BrokenPipesIgnored(const BrokenPipesIgnored&) = delete;
    BrokenPipesIgnored& operator=(const BrokenPipesIgnored&) = delete;

    ~BrokenPipesIgnored() {
        if (sigismember(&before_, SIGPIPE) == 0) {
            const timespec at_once{};
            while (::sigtimedwait(&broken_pipe_, nullptr, &at_once) > 0) {
            }
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t broken_pipe_{};
    sigset_t before_{};
};

/// One child while it runs. A loop of `step`s until `is_over`.
class Conversation {
  public:
    Conversation(const CommandRequest& request, const base::Clock& clock, ChildProcess child)
        : request_(request), clock_(clock), child_(std::move(child)), waker_(request.stop),
          output_(request.max_output_bytes), error_output_(request.max_output_bytes),
          output_open_(true), error_open_(true) {
        make_non_blocking(child_.stdin_descriptor());
        make_non_blocking(child_.stdout_descriptor());
        make_non_blocking(child_.stderr_descriptor());
    }

    CommandResult run() {
        while (!is_over())
            step();
        child_.signal_group(SIGKILL); // what the child left behind in its group
        CommandResult result;
        result.end = end_;
        result.status = status_.value_or(ExitStatus{});
        keep_output(result);
        return result;
    }

  private:
    void keep_output(CommandResult& result) const {
        const std::uint64_t most = request_.max_output_bytes;
        const std::uint64_t written = output_.total_bytes();
        const std::uint64_t errors = error_output_.total_bytes();
        result.output = output_.text(most - std::min(errors, most / 2));
        result.error_output = error_output_.text(most - std::min(written, most - most / 2));
        result.truncated = written + errors > most;
    }

    bool is_over() const {
        if (!status_)
            return false;
        return (!output_open_ && !error_open_) || clock_.steady_now() >= pipes_until_;
    }

    void step() {
        wait_for_something();
        feed();
        output_open_ = output_open_ && drain(child_.stdout_descriptor(), output_);
        error_open_ = error_open_ && drain(child_.stderr_descriptor(), error_output_);
        if (!status_) {
            status_ = child_.poll();
            if (status_)
                pipes_until_ = clock_.steady_now() + request_.pipe_grace;
        }
        if (!status_)
            end_if_due();
    }

    void wait_for_something() {
        // Descriptor -1 is skipped by poll. The child's end closes its pipes in nearly all cases;
        // the bound on the wait is for a child that closed them itself and for one that leaves them
        // open.
        pollfd watched[] = {
            {fed_ < request_.input.size() ? child_.stdin_descriptor() : -1, POLLOUT, 0},
            {output_open_ ? child_.stdout_descriptor() : -1, POLLIN, 0},
            {error_open_ ? child_.stderr_descriptor() : -1, POLLIN, 0},
            {terminating_ ? -1 : waker_.descriptor(), POLLIN, 0},
            {status_ ? -1 : child_.exit_descriptor(), POLLIN, 0},
        };
        const base::SteadyTime until = next_deadline();
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_.steady_now());
        const auto bound = child_.exit_descriptor() >= 0 ? 1'000ms : 5ms;
        ::poll(watched, std::size(watched),
               static_cast<int>(std::clamp<std::chrono::milliseconds>(left, 0ms, bound).count()));
    }

    base::SteadyTime next_deadline() const {
        if (status_)
            return pipes_until_;
        return terminating_ ? kill_at_ : request_.deadline;
    }

    void feed() {
        if (child_.stdin_descriptor() < 0)
            return;
        while (fed_ < request_.input.size()) {
            const ssize_t written = ::write(child_.stdin_descriptor(), request_.input.data() + fed_,
                                            request_.input.size() - fed_);
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0 && errno == EAGAIN)
                return;
            if (written < 0) {
                // It does not want its input (a broken pipe): its exit code says whether that
                // matters.
                fed_ = request_.input.size();
                break;
            }
            fed_ += static_cast<std::size_t>(written);
        }
        child_.close_stdin();
    }

    // False once the stream has ended. Bounded per call, so that an endless writer does not keep us
    // from looking at the deadline.
    bool drain(int descriptor, OutputKeeper& keeper) {
        char buffer[64 << 10];
        for (int rounds = 0; rounds < 16; ++rounds) {
            const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
            if (got > 0)
                keeper.add({buffer, static_cast<std::size_t>(got)});
            else if (got < 0 && errno == EINTR)
                continue;
            else
                return got < 0 && errno == EAGAIN;
        }
        return true;
    }

    void end_if_due() {
        const base::SteadyTime now = clock_.steady_now();
        if (terminating_) {
            if (now >= kill_at_)
                child_.signal_group(SIGKILL);
            return;
        }
        const bool stopped = request_.stop.stop_requested();
        if (!stopped && now < request_.deadline)
            return;
        end_ = stopped ? CommandEnd::stopped : CommandEnd::timed_out;
        terminating_ = true;
        kill_at_ = now + request_.kill_grace;
        child_.signal_group(SIGTERM);
    }

    const CommandRequest& request_;
    const base::Clock& clock_;
    ChildProcess child_;
    StopWaker waker_;
    OutputKeeper output_;
    OutputKeeper error_output_;
    bool output_open_;
    bool error_open_;
    std::size_t fed_ = 0;
    bool terminating_ = false;
    base::SteadyTime kill_at_{};
    base::SteadyTime pipes_until_{};
    CommandEnd end_ = CommandEnd::exited;
    std::optional<ExitStatus> status_;
};

} // namespace

base::Result<CommandResult> run_command(const CommandRequest& request, const base::Clock& clock) {
    SpawnOptions options = request.spawn;
    options.stdin_to = options.stdout_to = options.stderr_to = StreamTo::pipe;
    options.own_group = true;
    options.die_with_parent = true;
    options.die_with_thread = true; // this one, which stays until the child has ended
    DEADMAN_TRY(ChildProcess child, ChildProcess::spawn(options));
    const BrokenPipesIgnored ignored;
    return Conversation(request, clock, std::move(child)).run();
}

} // namespace deadman::platform
