#include "deadman/platform/internal/launch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/system_error.h"

extern char** environ;

namespace deadman::platform::internal {
namespace {

enum class Step : int { death_signal, session, streams, directory, announce, exec };

struct Failure {
    Step step;
    int error;
};

const char* step_name(Step step) {
    switch (step) {
    case Step::death_signal:
        return "cannot tie to this process ";
    case Step::session:
        return "cannot make a process group for ";
    case Step::streams:
        return "cannot connect the streams of ";
    case Step::directory:
        return "cannot enter the working directory of ";
    case Step::announce:
        return "cannot reach the guardian of ";
    case Step::exec:
        break;
    }
    return "cannot run ";
}

// Everything that the child needs, made before it exists: it shares our memory until it execs, so
// it must not allocate, lock or change anything.
struct Prepared {
    const LaunchPlan* plan;
    char* const* argv;
    char* const* environment;
    int error_pipe;
};

[[noreturn]] void give_up(const Prepared& prepared, Step step) {
    const Failure failure{step, errno};
    [[maybe_unused]] const auto written = ::write(prepared.error_pipe, &failure, sizeof failure);
    ::_exit(127);
}

void default_signal_handlers() {
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number)
        ::sigaction(number, &action, nullptr);
}

bool announce(int socket, pid_t pid, bool group) {
    // "+ -1234\n", formatted by hand: nothing else is allowed here.
    char text[32];
    char* end = text + sizeof text;
    char* at = end;
    *--at = '\n';
    for (auto rest = static_cast<unsigned>(pid); rest > 0; rest /= 10)
        *--at = static_cast<char>('0' + rest % 10);
    if (group)
        *--at = '-';
    *--at = ' ';
    *--at = '+';
    const auto size = end - at;
    return ::send(socket, at, static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
}

[[noreturn]] void become_program(const Prepared& prepared) {
    const LaunchPlan& plan = *prepared.plan;
    default_signal_handlers();
    // Asked for too late if the parent is gone by then.
    if (plan.dies_with > 0 &&
        (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != plan.dies_with))
        give_up(prepared, Step::death_signal);
    if (plan.own_session ? ::setsid() < 0 : plan.own_group && ::setpgid(0, 0) < 0)
        give_up(prepared, Step::session);
    for (int stream = 0; stream < 3; ++stream)
        if (plan.streams[stream] >= 0 && ::dup2(plan.streams[stream], stream) < 0)
            give_up(prepared, Step::streams);
    // Descriptors of libraries that forgot close-on-exec stay here too.
    ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    if (!plan.working_directory.empty() && ::chdir(plan.working_directory.c_str()) != 0)
        give_up(prepared, Step::directory);
    if (plan.announce_to >= 0 && !announce(plan.announce_to, ::getpid(), plan.own_group))
        give_up(prepared, Step::announce);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(plan.program.c_str(), prepared.argv, prepared.environment);
    give_up(prepared, Step::exec);
}

// Alone in a function: whatever lives across vfork must not be changed by the child.
[[gnu::noinline]] pid_t start_child(const Prepared& prepared) {
    const pid_t pid = ::vfork();
    if (pid == 0)
        become_program(prepared);
    return pid;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (const std::string& text : strings)
        pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

} // namespace

base::Result<Launched> launch(const LaunchPlan& plan) {
    const std::vector<char*> argv = pointers_to(plan.argv);
    const std::vector<char*> environment = pointers_to(plan.environment);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error(step_name(Step::streams) + plan.program, errno);
    const OwnedDescriptor read_end(ends[0]);
    OwnedDescriptor write_end(ends[1]);
    const Prepared prepared{&plan, argv.data(),
                            plan.environment.empty() ? environ : environment.data(),
                            write_end.get()};

    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = start_child(prepared);
    const int vfork_error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0)
        return system_error(step_name(Step::exec) + plan.program, vfork_error);

    write_end.reset();
    Failure failure{};
    ssize_t count = 0;
    do
        count = ::read(read_end.get(), &failure, sizeof failure);
    while (count < 0 && errno == EINTR);
    if (count == 0)
        return Launched{pid, false};
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    if (failure.step == Step::announce)
        return Launched{-1, true};
    return system_error(step_name(failure.step) + plan.program, failure.error);
}

std::string guardian_target(pid_t pid, bool group) {
    return (group ? "-" : "") + std::to_string(pid);
}

} // namespace deadman::platform::internal
