// Goal: a command ends within its bounds whatever it does, and leaves nothing of its group behind.

#include "deadman/platform/command.h"

#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

namespace deadman::platform {
namespace {

using namespace std::chrono_literals;

struct RunCommand : testing::Test {
    base::SystemClock clock;

    static CommandRequest shell(std::string script) {
        CommandRequest request;
        request.spawn.argv = {"/bin/sh", "-c", std::move(script)};
        return request;
    }

    CommandResult run(const CommandRequest& request) {
        auto result = run_command(request, clock);
        EXPECT_TRUE(result.has_value()) << result.error().message;
        return result.value_or(CommandResult{});
    }

    static bool is_alive(const std::string& pid) {
        return ::kill(std::stoi(pid), 0) == 0;
    }

    // A killed process may be a zombie of the container's init for a moment.
    bool dies_soon(const std::string& pid) {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        return clock.wait_until(lock, never, clock.steady_now() + 5s,
                                [&] { return !is_alive(pid); });
    }
};

TEST_F(RunCommand, FeedsInputAndKeepsBothOutputsAndTheExitCode) {
    auto request = shell("cat; echo oops >&2; exit 7");
    request.input = "hello";
    const auto result = run(request);
    EXPECT_EQ(result.end, CommandEnd::exited);
    EXPECT_EQ(result.status.code, 7);
    EXPECT_EQ(result.output, "hello");
    EXPECT_EQ(result.error_output, "oops\n");
    EXPECT_FALSE(result.truncated);
}

TEST_F(RunCommand, DrainsBothStreamsTogether) {
    const auto result = run(shell("head -c 10000000 /dev/zero >&2; head -c 10000000 /dev/zero"));
    EXPECT_EQ(result.status.code, 0);
    EXPECT_TRUE(result.truncated);
    EXPECT_LT(result.output.size(), 70'000U);
}

// F7: half of the bound was lost, and with it half of what a command said.
TEST_F(RunCommand, KeepsTheWholeBoundOfBothStreamsTogether) {
    auto request = shell("head -c 1000 /dev/zero | tr '\\0' q");
    request.max_output_bytes = 1'000;
    auto result = run(request);
    EXPECT_EQ(result.output, std::string(1'000, 'q'));
    EXPECT_FALSE(result.truncated);

    request = shell("head -c 900 /dev/zero | tr '\\0' q; head -c 100 /dev/zero | tr '\\0' e >&2");
    request.max_output_bytes = 1'000;
    result = run(request);
    EXPECT_EQ(result.output, std::string(900, 'q'));
    EXPECT_EQ(result.error_output, std::string(100, 'e'));
    EXPECT_FALSE(result.truncated);

    request = shell("head -c 5000 /dev/zero | tr '\\0' q; head -c 300 /dev/zero | tr '\\0' e >&2");
    request.max_output_bytes = 1'000;
    result = run(request);
    EXPECT_EQ(result.error_output, std::string(300, 'e')) << "less than its half: whole";
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), 'q'), 700);
    EXPECT_TRUE(result.truncated);
}

TEST_F(RunCommand, AChildThatNeverReadsItsInputIsNoFailure) {
    auto request = shell("exec 0<&-; exit 0");
    request.input.assign(4'000'000, 'x');
    EXPECT_EQ(run(request).status.code, 0);
}

TEST_F(RunCommand, WritesNothingToAClosedPipeThatWouldKillUs) {
    auto request = shell("exec 0<&-; sleep 0.2; exit 3");
    request.input.assign(4'000'000, 'x');
    EXPECT_EQ(run(request).status.code, 3);
}

TEST_F(RunCommand, TimeoutEndsTheWholeGroup) {
    auto request = shell("sleep 600 & echo $!; sleep 600");
    request.deadline = clock.steady_now() + 300ms;
    const auto result = run(request);
    EXPECT_EQ(result.end, CommandEnd::timed_out);
    EXPECT_TRUE(dies_soon(result.output));
}

TEST_F(RunCommand, OneThatIgnoresTheFirstSignalIsKilledAfterTheGrace) {
    auto request = shell("trap '' TERM; while :; do sleep 600; done");
    request.deadline = clock.steady_now() + 200ms;
    request.kill_grace = 300ms;
    const auto started = clock.steady_now();
    const auto result = run(request);
    EXPECT_EQ(result.end, CommandEnd::timed_out);
    EXPECT_EQ(result.status.signal, SIGKILL);
    EXPECT_GE(clock.steady_now() - started, 500ms);
    EXPECT_LT(clock.steady_now() - started, 5s);
}

TEST_F(RunCommand, AnEndlessWriterIsStoppedInTime) {
    auto request = shell("yes");
    request.deadline = clock.steady_now() + 300ms;
    const auto started = clock.steady_now();
    const auto result = run(request);
    EXPECT_EQ(result.end, CommandEnd::timed_out);
    EXPECT_LT(clock.steady_now() - started, 5s);
    EXPECT_LT(result.output.size(), 70'000U);
}

TEST_F(RunCommand, AStopRequestTerminates) {
    std::stop_source stop;
    auto request = shell("sleep 600");
    request.stop = stop.get_token();
    stop.request_stop();
    const auto started = clock.steady_now();
    EXPECT_EQ(run(request).end, CommandEnd::stopped);
    EXPECT_LT(clock.steady_now() - started, 5s);
}

TEST_F(RunCommand, AnEscapedChildDoesNotHoldTheCommandOpen) {
    const auto started = clock.steady_now();
    const auto result = run(shell("setsid sleep 600 & echo $!"));
    EXPECT_EQ(result.end, CommandEnd::exited);
    EXPECT_EQ(result.status.code, 0);
    EXPECT_LT(clock.steady_now() - started, 5s);
    ::kill(std::stoi(result.output), SIGKILL); // it left the group: ours to clean up in this test
}

TEST_F(RunCommand, WhatAnEndedCommandLeftInItsGroupIsKilled) {
    const auto result = run(shell("sleep 600 >/dev/null 2>&1 & echo $!"));
    EXPECT_EQ(result.status.code, 0);
    EXPECT_TRUE(dies_soon(result.output));
}

TEST_F(RunCommand, AnUnknownProgramIsAnError) {
    CommandRequest request;
    request.spawn.argv = {"/no/such/program"};
    const auto result = run_command(request, clock);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, base::ErrorCode::not_found);
}

} // namespace
} // namespace deadman::platform
