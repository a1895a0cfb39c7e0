// Goal: exit codes, environment and output become the right answers; nothing a command does hangs.

#include "deadman/worker/handlers/exec_handler.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "deadman/domain/payload.h"
#include "deadman/worker/handlers/internal/fake_run_context.h"

namespace deadman::worker {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;
using internal::FakeRunContext;

struct ExecHandler : testing::Test {
    base::SystemClock clock;
    FakeRunContext context{R"({"n":12345678901234567890})"};
    ExecOptions options;

    domain::Answer run(std::string script) {
        options.command = {"/bin/sh", "-c", std::move(script)};
        return make_exec_handler(options, clock)(context);
    }
};

TEST_F(ExecHandler, GivesThePayloadToStdinByteForByteAndKeepsTheOutput) {
    const auto answer = run("cat");
    EXPECT_EQ(answer.kind, AnswerKind::succeeded);
    EXPECT_EQ(
        answer.result,
        R"({"exit_code":0,"stdout":"{\"n\":12345678901234567890}","stderr":"","truncated":false})");
}

TEST_F(ExecHandler, TellsTheCommandWhichRunItIs) {
    context.deadline_at = clock.steady_now() + 1h;
    const auto answer =
        run("echo $DEADMAN_JOB_ID $DEADMAN_FENCE $DEADMAN_ATTEMPT $DEADMAN_RUN_KEY $DEADMAN_KIND "
            "$DEADMAN_QUEUE $DEADMAN_IDEMPOTENCY_KEY; "
            "case $DEADMAN_DEADLINE in 20*Z) echo deadline;; esac");
    EXPECT_NE(answer.result.find(R"(7 42 3 key-of-the-run test default deadman-job-7\ndeadline\n)"),
              std::string::npos)
        << answer.result;
}

TEST_F(ExecHandler, GivesNoEnvironmentThatWasNotDeclared) {
    ::setenv("DEADMAN_TEST_SECRET", "hunter2", 1);
    options.environment["COLOUR"] = "ember";
    const auto answer = run("echo [$DEADMAN_TEST_SECRET] $COLOUR");
    EXPECT_NE(answer.result.find("[] ember"), std::string::npos) << answer.result;
    ::unsetenv("DEADMAN_TEST_SECRET");
}

TEST_F(ExecHandler, ExitCodesMeanWhatTheContractSays) {
    EXPECT_EQ(run("exit 0").kind, AnswerKind::succeeded);
    const auto failed = run("echo broken >&2; exit 1");
    EXPECT_EQ(failed.kind, AnswerKind::error);
    EXPECT_EQ(failed.message, "exit code 1: broken\n");
    EXPECT_EQ(run("exit 65").kind, AnswerKind::failed);
    const auto snoozed = run("echo 90s; exit 85");
    EXPECT_EQ(snoozed.kind, AnswerKind::snooze);
    EXPECT_EQ(snoozed.delay, 90s);
    EXPECT_EQ(run("exit 85").delay, 1min);
    EXPECT_EQ(run("kill -9 $$").reason, "signal");
}

TEST_F(ExecHandler, ACommandThatDoesNotExistIsAFailedAttempt) {
    options.command = {"/no/such/command"};
    const auto answer = make_exec_handler(options, clock)(context);
    EXPECT_EQ(answer.kind, AnswerKind::error);
    EXPECT_EQ(answer.reason, "spawn");
}

TEST_F(ExecHandler, AMissingWorkingDirectoryIsAFailedAttempt) {
    options.working_directory = "/no/such/folder";
    EXPECT_EQ(run("exit 0").reason, "spawn");
}

TEST_F(ExecHandler, OutputThatIsNotTextBecomesTextWithinTheLimit) {
    options.max_output_bytes = 1'000;
    const auto answer = run(R"(printf 'a\000b\303(\a\377'; head -c 100000 /dev/zero)");
    EXPECT_EQ(answer.kind, AnswerKind::succeeded);
    EXPECT_LE(answer.result.size(), 6 * 1'000U + 200) << "escaping takes up to six bytes for one";
    EXPECT_TRUE(domain::validate_payload(answer.result).has_value()) << answer.result;
    EXPECT_NE(answer.result.find(R"("truncated":true)"), std::string::npos);
}

// F7: 60,000 bytes of 64 KiB became 32,768, and of a failed run 4 KiB of one stream.
TEST_F(ExecHandler, KeepsAllThatTheLimitAllowsOfARunHoweverItEnds) {
    const std::string said = "head -c 60000 /dev/zero | tr '\\0' o; echo oops >&2;";
    const std::string whole(60'000, 'o');
    const auto done = run(said + "exit 0");
    EXPECT_NE(done.result.find(whole), std::string::npos);
    EXPECT_NE(done.result.find(R"("truncated":false)"), std::string::npos);
    for (const auto& failed :
         {run(said + "exit 1"), run(said + "exit 65"), run(said + "kill -9 $$")}) {
        EXPECT_NE(failed.message.find("\n[stderr]\noops\n[stdout]\n" + whole), std::string::npos);
    }
    options.timeout = 300ms;
    EXPECT_NE(run("echo early; sleep 600").message.find("early"), std::string::npos);
}

TEST_F(ExecHandler, ItsOwnTimeoutEndsIt) {
    options.timeout = 200ms;
    const auto answer = run("sleep 600");
    EXPECT_EQ(answer.kind, AnswerKind::error);
    EXPECT_EQ(answer.reason, domain::reason_timeout);
}

TEST_F(ExecHandler, AStopRequestEndsIt) {
    context.stop.request_stop();
    EXPECT_EQ(run("sleep 600").reason, "stopped");
}

} // namespace
} // namespace deadman::worker
