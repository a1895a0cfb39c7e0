#include "deadman/platform/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "deadman/base/clock.h"
#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/guardian.h"
#include "deadman/platform/internal/launch.h"
#include "deadman/platform/internal/system_error.h"

namespace deadman::platform {

using internal::OwnedDescriptor;
using internal::system_error;

struct ChildProcess::State {
    pid_t pid = -1;
    bool own_group = false;
    bool guarded = false;
    OwnedDescriptor handle; // a pidfd; closed where the kernel has none
    OwnedDescriptor streams[3];
    std::optional<ExitStatus> status;
};

namespace {

using namespace std::chrono_literals;

base::Result<std::string> find_program(const std::string& name) {
    if (name.empty())
        return base::fail(base::ErrorCode::invalid_argument, "no program to run");
    if (name.find('/') != std::string::npos)
        return name;
    const char* variable = std::getenv("PATH");
    std::string path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
    path += ':';
    for (std::size_t from = 0, to = 0; (to = path.find(':', from)) != std::string::npos;
         from = to + 1) {
        const std::string folder = path.substr(from, to - from);
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        std::error_code ignored;
        if (std::filesystem::is_regular_file(candidate, ignored) &&
            ::access(candidate.c_str(), X_OK) == 0)
            return candidate;
    }
    return base::fail(base::ErrorCode::not_found, "no program '" + name + "' in PATH");
}

// One stream of a child: what it gets, and our end where that is a pipe.
struct StreamEnds {
    OwnedDescriptor child;
    OwnedDescriptor parent;
};

// Above the three streams, where dup2 onto them cannot hit it.
base::Result<OwnedDescriptor> above_streams(OwnedDescriptor descriptor) {
    if (descriptor.get() > 2)
        return descriptor;
    OwnedDescriptor moved(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, 3));
    if (!moved.is_open())
        return system_error("cannot move a descriptor", errno);
    return moved;
}

base::Result<StreamEnds> open_stream(StreamTo to, bool child_reads) {
    StreamEnds ends;
    if (to == StreamTo::inherit)
        return ends;
    if (to == StreamTo::null) {
        OwnedDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
        if (!null.is_open())
            return system_error("cannot open /dev/null", errno);
        DEADMAN_TRY(ends.child, above_streams(std::move(null)));
        return ends;
    }
    int pipe_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    OwnedDescriptor read_end(pipe_ends[0]);
    OwnedDescriptor write_end(pipe_ends[1]);
    DEADMAN_TRY(ends.child, above_streams(std::move(child_reads ? read_end : write_end)));
    DEADMAN_TRY(ends.parent, above_streams(std::move(child_reads ? write_end : read_end)));
    return ends;
}

std::optional<ExitStatus> look(pid_t pid, int flags) {
    siginfo_t info{};
    int result = 0;
    do
        result = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | flags);
    while (result < 0 && errno == EINTR);
    if (result < 0 || info.si_pid == 0)
        return std::nullopt;
    ExitStatus status;
    (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
    return status;
}

int open_handle(pid_t pid) {
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)); // close-on-exec by itself
}

} // namespace

base::Result<ChildProcess> ChildProcess::spawn(const SpawnOptions& options) {
    if (options.argv.empty())
        return base::fail(base::ErrorCode::invalid_argument, "no program to run");
    internal::LaunchPlan plan;
    DEADMAN_TRY(plan.program, find_program(options.argv.front()));
    plan.argv = options.argv;
    plan.environment = options.environment;
    plan.working_directory = options.working_directory;
    plan.own_group = options.own_group;
    plan.dies_with = options.die_with_thread ? ::getpid() : 0;
    const StreamTo kinds[3] = {options.stdin_to, options.stdout_to, options.stderr_to};
    StreamEnds ends[3];
    for (int stream = 0; stream < 3; ++stream) {
        DEADMAN_TRY(ends[stream], open_stream(kinds[stream], stream == 0));
        plan.streams[stream] = ends[stream].child.get();
    }

    pid_t pid = -1;
    if (options.die_with_parent) {
        DEADMAN_TRY(pid, internal::Guardian::of_this_process().launch_guarded(plan));
    } else {
        DEADMAN_TRY(const auto launched, internal::launch(plan));
        pid = launched.pid;
    }
    auto* state = new State;
    state->pid = pid;
    state->own_group = options.own_group;
    state->guarded = options.die_with_parent;
    state->handle = OwnedDescriptor(open_handle(pid));
    for (int stream = 0; stream < 3; ++stream)
        state->streams[stream] = std::move(ends[stream].parent);
    return ChildProcess(state);
}

ChildProcess::ChildProcess(State* state) : state_(state) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

ChildProcess::~ChildProcess() {
    if (state_ == nullptr)
        return;
    // In this order: until it is reaped the number is the child's, and so is the group's.
    signal_group(SIGKILL);
    if (state_->guarded)
        internal::Guardian::of_this_process().forget(state_->pid, state_->own_group);
    look(state_->pid, 0);
    delete state_;
}

int ChildProcess::pid() const {
    return state_->pid;
}

int ChildProcess::stdin_descriptor() const {
    return state_->streams[0].get();
}

int ChildProcess::stdout_descriptor() const {
    return state_->streams[1].get();
}

int ChildProcess::stderr_descriptor() const {
    return state_->streams[2].get();
}

void ChildProcess::close_stdin() {
    state_->streams[0].reset();
}

base::Result<std::string> ChildProcess::read_stdout() {
    std::string text;
    char block[64 * 1024];
    for (;;) {
        const ssize_t count = ::read(stdout_descriptor(), block, sizeof block);
        if (count == 0)
            return text;
        if (count > 0)
            text.append(block, static_cast<std::size_t>(count));
        else if (errno != EINTR)
            return system_error("cannot read from a child process", errno);
    }
}

void ChildProcess::signal_process(int signal_number) {
    ::kill(state_->pid, signal_number);
}

void ChildProcess::signal_group(int signal_number) {
    ::kill(state_->own_group ? -state_->pid : state_->pid, signal_number);
}

void ChildProcess::kill_group() {
    signal_group(SIGKILL);
}

void ChildProcess::stop_process() {
    signal_process(SIGSTOP);
}

void ChildProcess::resume_process() {
    signal_process(SIGCONT);
}

std::optional<ExitStatus> ChildProcess::poll() {
    if (!state_->status)
        state_->status = look(state_->pid, WNOHANG | WNOWAIT);
    return state_->status;
}

int ChildProcess::exit_descriptor() const {
    return state_->handle.get();
}

std::optional<ExitStatus> ChildProcess::wait(base::Duration patience) {
    const base::SystemClock clock;
    const base::SteadyTime deadline = clock.steady_now() + patience;
    while (!poll()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.steady_now());
        if (left <= 0ms)
            return std::nullopt;
        // Without a handle (a kernel before 5.3) the child is looked at every few milliseconds.
        const bool has_handle = state_->handle.is_open();
        pollfd end{state_->handle.get(), POLLIN, 0};
        const auto longest = has_handle ? std::chrono::milliseconds(1h) : 5ms;
        ::poll(&end, has_handle ? 1 : 0, static_cast<int>(std::min(left, longest).count()));
    }
    return state_->status;
}

void kill_this_process() {
    for (;;)
        ::kill(::getpid(), SIGKILL);
}

void stop_this_process() {
    // To this thread, which so goes no step further: a signal to the process may reach another one
    // first.
    ::raise(SIGSTOP);
}

base::Result<std::string> executable_path() {
    char target[PATH_MAX];
    const ssize_t size = ::readlink("/proc/self/exe", target, sizeof target);
    if (size < 0)
        return system_error("cannot find this executable", errno);
    std::string path(target, static_cast<std::size_t>(size));
    // Replaced while it runs, by an upgrade: the kernel's name still leads to what runs here.
    if (path.ends_with(" (deleted)"))
        return std::string("/proc/self/exe");
    return path;
}

int current_pid() {
    return ::getpid();
}

bool is_superuser() {
    return ::geteuid() == 0;
}

std::string host_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

} // namespace deadman::platform
