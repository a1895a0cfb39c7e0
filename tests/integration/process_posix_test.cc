// Goal:   children get nothing but their streams, and end with this process, however it ends.
// Method: real programs. A test that must be killed runs this binary again, with one of the
// DISABLED
//         tests as its body; deaths of processes that are not our children are seen through pidfds.

#include "deadman/platform/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace deadman::platform {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration patience = 20s;

ChildProcess spawn(const SpawnOptions& options) {
    auto child = ChildProcess::spawn(options);
    if (!child)
        throw std::runtime_error(child.error().message);
    return std::move(*child);
}

SpawnOptions shell(const std::string& script) {
    SpawnOptions options;
    options.argv = {"sh", "-c", script};
    options.stdout_to = StreamTo::pipe;
    return options;
}

std::string read_all(int descriptor) {
    std::string text;
    char block[4096];
    for (ssize_t count; (count = ::read(descriptor, block, sizeof block)) > 0;)
        text.append(block, static_cast<std::size_t>(count));
    return text;
}

std::string read_line(int descriptor) {
    std::string line;
    for (char c; ::read(descriptor, &c, 1) == 1 && c != '\n';)
        line += c;
    return line;
}

// A process that need not be our child.
class WatchedProcess {
  public:
    explicit WatchedProcess(int pid)
        : handle_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))) {
        EXPECT_GE(handle_, 0) << "no process " << pid;
    }

    WatchedProcess(const WatchedProcess&) = delete;

    ~WatchedProcess() {
        if (handle_ >= 0)
            ::close(handle_);
    }

    bool ends_within(std::chrono::milliseconds longest) const {
        pollfd end{handle_, POLLIN, 0};
        return ::poll(&end, 1, static_cast<int>(longest.count())) == 1;
    }

  private:
    int handle_;
};

int guardian_of(int pid) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::ifstream status(entry.path() / "stat");
        std::ifstream command(entry.path() / "cmdline");
        std::string stat;
        std::string name;
        std::getline(status, stat);
        std::getline(command, name, '\0');
        if (name != "deadman-guardian")
            continue;
        std::istringstream fields(stat.substr(stat.rfind(')') + 2));
        std::string state;
        int parent = 0;
        fields >> state >> parent;
        if (parent == pid)
            return std::stoi(entry.path().filename().string());
    }
    return -1;
}

TEST(ChildProcess, ReportsExitCodesAndSignals) {
    ChildProcess exits = spawn(shell("exit 7"));
    ChildProcess dies = spawn(shell("kill -TERM $$"));
    const auto exited = exits.wait(patience);
    const auto died = dies.wait(patience);
    ASSERT_TRUE(exited && died);
    EXPECT_EQ(exited->code, 7);
    EXPECT_FALSE(exited->signal);
    EXPECT_EQ(died->signal, SIGTERM);
    EXPECT_FALSE(died->code);
    EXPECT_EQ(exits.poll()->code, 7) << "the status can be asked for again";
}

TEST(ChildProcess, WaitsNoLongerThanAsked) {
    ChildProcess child = spawn(shell("exec sleep 1000"));
    EXPECT_FALSE(child.wait(20ms));
    EXPECT_FALSE(child.poll());
    child.kill_group();
    EXPECT_EQ(child.wait(patience)->signal, SIGKILL);
}

TEST(ChildProcess, TellsWhatCannotBeRun) {
    SpawnOptions options;
    const auto code_of = [&options](std::vector<std::string> argv) {
        options.argv = std::move(argv);
        const auto child = ChildProcess::spawn(options);
        return child ? base::ErrorCode::internal : child.error().code;
    };
    EXPECT_EQ(code_of({}), base::ErrorCode::invalid_argument);
    EXPECT_EQ(code_of({""}), base::ErrorCode::invalid_argument);
    EXPECT_EQ(code_of({"no-such-program-anywhere"}), base::ErrorCode::not_found);
    EXPECT_EQ(code_of({"/no/such/program"}), base::ErrorCode::not_found);
    EXPECT_EQ(code_of({"/etc/passwd"}), base::ErrorCode::invalid_argument);
    options.working_directory = "/no/such/folder";
    EXPECT_EQ(code_of({"true"}), base::ErrorCode::not_found);
}

TEST(ChildProcess, ConnectsStreamsDirectoryAndEnvironment) {
    SpawnOptions options = shell("read line; echo \"$line $WORD $PWD\"; echo oops >&2");
    options.environment = {"WORD=given", "PATH=/usr/bin:/bin"};
    options.working_directory = "/usr";
    options.stdin_to = StreamTo::pipe;
    options.stderr_to = StreamTo::pipe;
    ChildProcess child = spawn(options);
    ASSERT_EQ(::write(child.stdin_descriptor(), "hello\n", 6), 6);
    child.close_stdin();
    EXPECT_EQ(read_all(child.stdout_descriptor()), "hello given /usr\n");
    EXPECT_EQ(read_all(child.stderr_descriptor()), "oops\n");
}

TEST(ChildProcess, InheritsNoDescriptorEvenFromACarelessLibrary) {
    const int careless = ::open("/etc/passwd", O_RDONLY); // without O_CLOEXEC, on purpose
    ASSERT_GT(careless, 2);
    ChildProcess first = spawn(shell("exec sleep 1000"));
    ChildProcess child = spawn(shell("ls /proc/$$/fd | tr '\\n' ' '"));
    EXPECT_EQ(read_all(child.stdout_descriptor()), "0 1 2 ");
    ::close(careless);
}

TEST(ChildProcess, InheritsNoBlockedOrIgnoredSignal) {
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto handler = std::signal(SIGPIPE, SIG_IGN);
    ChildProcess child = spawn(shell("grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2"));
    EXPECT_EQ(read_all(child.stdout_descriptor()), "0000000000000000\n0000000000000000\n");
    std::signal(SIGPIPE, handler);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(ChildProcess, DestructionEndsTheWholeGroupAndReapsTheChild) {
    int pid = 0;
    std::optional<WatchedProcess> grandchild;
    {
        ChildProcess child = spawn(shell("sleep 1000 & echo $!; wait"));
        pid = child.pid();
        grandchild.emplace(std::stoi(read_line(child.stdout_descriptor())));
    }
    EXPECT_TRUE(grandchild->ends_within(20s));
    EXPECT_EQ(::kill(pid, 0), -1) << "not reaped";
}

TEST(ChildProcess, WhatAnEndedChildLeftBehindEndsWithItsObject) {
    std::optional<WatchedProcess> left;
    {
        ChildProcess child = spawn(shell("sleep 1000 & echo $!"));
        left.emplace(std::stoi(read_line(child.stdout_descriptor())));
        ASSERT_EQ(child.wait(patience)->code, 0);
        EXPECT_FALSE(left->ends_within(0ms));
    }
    EXPECT_TRUE(left->ends_within(20s));
}

TEST(ChildProcess, OutlivesTheThreadThatSpawnedIt) {
    std::optional<ChildProcess> child;
    std::thread([&child] { child = spawn(shell("exec sleep 1000")); }).join();
    EXPECT_FALSE(child->wait(50ms));
}

// --- the death of the parent --------------------------------------------------------------------

// Runs as a process of its own, until it is killed: spawns a child with a grandchild, a stopped
// child, and a child from a thread that is gone, and prints who they are.
TEST(Parent, DISABLED_SpawnsAndWaits) {
    ChildProcess family = spawn(shell("sleep 1000 & echo $!; wait"));
    ChildProcess stopped = spawn(shell("exec sleep 1000"));
    stopped.stop_process();
    std::optional<ChildProcess> of_thread;
    std::thread([&of_thread] { of_thread = spawn(shell("exec sleep 1000")); }).join();
    const std::string line =
        std::to_string(family.pid()) + " " + read_line(family.stdout_descriptor()) + " " +
        std::to_string(stopped.pid()) + " " + std::to_string(of_thread->pid()) + "\n";
    const int out = std::stoi(std::getenv("REPORT_TO"));
    ASSERT_EQ(::write(out, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ::pause();
}

// Like it, and its guardian is killed before the last child is spawned.
TEST(Parent, DISABLED_LosesItsGuardian) {
    ChildProcess first = spawn(shell("exec sleep 1000"));
    const int guardian = guardian_of(::getpid());
    ASSERT_GT(guardian, 0);
    const WatchedProcess watched(guardian);
    ::kill(guardian, SIGKILL);
    ASSERT_TRUE(watched.ends_within(20s));
    ChildProcess second = spawn(shell("exec sleep 1000"));
    const std::string line =
        std::to_string(first.pid()) + " " + std::to_string(second.pid()) + "\n";
    const int out = std::stoi(std::getenv("REPORT_TO"));
    ASSERT_EQ(::write(out, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ::pause();
}

// Its guardian is stopped: the child that dies with its thread does not need it.
TEST(Parent, DISABLED_StopsItsGuardian) {
    SpawnOptions options = shell("exec sleep 1000");
    options.die_with_thread = true;
    ChildProcess child = spawn(options);
    const int guardian = guardian_of(::getpid());
    ASSERT_GT(guardian, 0);
    ::kill(guardian, SIGSTOP);
    const std::string line = std::to_string(child.pid()) + " " + std::to_string(guardian) + "\n";
    const int out = std::stoi(std::getenv("REPORT_TO"));
    ASSERT_EQ(::write(out, line.data(), line.size()), static_cast<ssize_t>(line.size()));
    ::pause();
}

ChildProcess start_parent(const std::string& filter) {
    // Standard error becomes the report, since gtest owns the output.
    SpawnOptions options;
    options.argv = {executable_path().value(), "--gtest_filter=" + filter,
                    "--gtest_also_run_disabled_tests"};
    options.environment = {"REPORT_TO=2", "PATH=/usr/bin:/bin"};
    options.stdout_to = StreamTo::null;
    options.stderr_to = StreamTo::pipe;
    options.die_with_parent = false;
    return spawn(options);
}

class ParentDeath : public testing::TestWithParam<const char*> {};

TEST_P(ParentDeath, BySigkillEndsChildrenAndGrandchildren) {
    ChildProcess parent = start_parent(GetParam());
    std::istringstream line(read_line(parent.stderr_descriptor()));
    std::vector<std::unique_ptr<WatchedProcess>> watched;
    for (int pid; line >> pid;)
        watched.push_back(std::make_unique<WatchedProcess>(pid));
    ASSERT_GE(watched.size(), 2U);
    for (const auto& process : watched)
        EXPECT_FALSE(process->ends_within(0ms));

    parent.signal_process(SIGKILL); // not its group: nothing of the family hears of it
    for (const auto& process : watched)
        EXPECT_TRUE(process->ends_within(20s));
}

TEST(StoppedGuardian, DoesNotKeepAProgramThatDiesWithItsThread) {
    ChildProcess parent = start_parent("Parent.DISABLED_StopsItsGuardian");
    std::istringstream line(read_line(parent.stderr_descriptor()));
    int child = 0;
    int guardian = 0;
    ASSERT_TRUE(line >> child >> guardian);
    const WatchedProcess watched(child);
    parent.signal_process(SIGKILL);
    EXPECT_TRUE(watched.ends_within(20s));
    ::kill(guardian, SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(Posix, ParentDeath,
                         testing::Values("Parent.DISABLED_SpawnsAndWaits",
                                         "Parent.DISABLED_LosesItsGuardian"),
                         [](const auto& case_of) {
                             return std::string(case_of.index == 0 ? "Guarded" : "NewGuardian");
                         });

TEST(Guardian, ServesAllChildrenAndLeavesWithItsProcess) {
    ChildProcess one = spawn(shell("exec sleep 1000"));
    ChildProcess two = spawn(shell("exec sleep 1000"));
    const int guardian = guardian_of(::getpid());
    ASSERT_GT(guardian, 0);
    EXPECT_NE(::getpgid(guardian), ::getpgrp()) << "a Ctrl-C in the terminal would reach it";
}

} // namespace
} // namespace deadman::platform
