#include "deadman/platform/internal/guardian.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "deadman/platform/internal/system_error.h"

namespace deadman::platform::internal {
namespace {

// "+ -123" adds a group, "- -123" takes it off. SIGKILL reaches stopped processes too.
constexpr const char* script = R"(trap '' HUP INT QUIT TERM
targets=
while read -r move target; do
    case $move in
    +) targets="$targets $target" ;;
    -)
        rest=
        for known in $targets; do [ "$known" = "$target" ] || rest="$rest $known"; done
        targets=$rest
        ;;
    esac
done
for target in $targets; do kill -s KILL -- "$target"; done
)";

bool send_line(int socket, const std::string& line) {
    return ::send(socket, line.data(), line.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(line.size());
}

} // namespace

Guardian& Guardian::of_this_process() {
    // Never destroyed: children may be spawned and reaped by static destructors.
    static Guardian* const guardian = new Guardian;
    return *guardian;
}

base::Result<pid_t> Guardian::launch_guarded(LaunchPlan plan) {
    const std::lock_guard lock(mutex_);
    for (int tries = 0; tries < 2; ++tries) {
        DEADMAN_TRY_STATUS(ensure_running());
        plan.announce_to = socket_.get();
        DEADMAN_TRY(const Launched launched, launch(plan));
        if (!launched.guardian_lost) {
            targets_.insert(guardian_target(launched.pid, plan.own_group));
            return launched.pid;
        }
        stop(); // somebody has killed it
    }
    return base::fail(base::ErrorCode::unavailable,
                      "the guardian that ends child processes cannot be kept running");
}

void Guardian::forget(pid_t pid, bool group) {
    const std::lock_guard lock(mutex_);
    const std::string target = guardian_target(pid, group);
    if (targets_.erase(target) > 0 && socket_.is_open())
        send_line(socket_.get(), "- " + target + "\n");
}

bool Guardian::knows(pid_t pid) {
    const std::lock_guard lock(mutex_);
    return pid == pid_ || targets_.contains(guardian_target(pid, true)) ||
           targets_.contains(guardian_target(pid, false));
}

base::Status Guardian::ensure_running() {
    if (socket_.is_open())
        return {};
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("cannot make a socket for the guardian", errno);
    OwnedDescriptor ours(ends[0]);
    const OwnedDescriptor theirs(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
    ::close(ends[1]);
    const OwnedDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    LaunchPlan plan;
    plan.program = "/bin/sh";
    plan.argv = {"deadman-guardian", "-c", script};
    plan.environment = {"PATH=/usr/bin:/bin"};
    plan.working_directory = "/";
    plan.streams[0] = theirs.get();
    plan.streams[1] = plan.streams[2] = null.get();
    plan.own_session = true; // a terminal's Ctrl-C is not for it
    DEADMAN_TRY(const Launched launched, launch(plan));
    pid_ = launched.pid;
    socket_ = std::move(ours);
    for (const std::string& target : targets_)
        send_line(socket_.get(), "+ " + target + "\n");
    return {};
}

void Guardian::stop() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL); // before it could take the end of its input for our death
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    pid_ = -1;
    socket_.reset();
}

} // namespace deadman::platform::internal
