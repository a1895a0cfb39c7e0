#include "deadman/worker/handlers/exec_handler.h"

#include <algorithm>
#include <cstdlib>

#include "deadman/base/time_text.h"
#include "deadman/domain/duration_text.h"
#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"
#include "deadman/platform/command.h"
#include "deadman/worker/handlers/idempotency_key.h"
#include "deadman/worker/handlers/internal/json_text.h"

namespace deadman::worker {
namespace {

using domain::Answer;
using domain::AnswerKind;

constexpr int exit_failed_for_good = 65; // EX_DATAERR of sysexits.h
constexpr int exit_snooze = 85;
constexpr base::Duration default_snooze = std::chrono::minutes(1);

// What a command needs to find its way; not what else this process was told, which may be secret.
constexpr const char* inherited[] = {"PATH", "HOME",   "USER", "LOGNAME", "SHELL",
                                     "LANG", "LC_ALL", "TZ",   "TMPDIR",  "SSL_CERT_FILE"};

void set(std::map<std::string, std::string>& environment, const char* name, std::string value) {
    environment[name] = std::move(value);
}

std::vector<std::string> make_environment(const ExecOptions& options, const RunContext& context,
                                          base::SteadyTime deadline, const base::Clock& clock) {
    std::map<std::string, std::string> environment;
    for (const char* name : inherited)
        if (const char* value = std::getenv(name))
            set(environment, name, value);
    for (const auto& [name, value] : options.environment)
        environment[name] = value;
    const store::Claimed& job = context.claimed();
    set(environment, "DEADMAN_JOB_ID", std::to_string(job.run.job.value));
    set(environment, "DEADMAN_FENCE", std::to_string(job.run.fence.value));
    set(environment, "DEADMAN_RUN_KEY", context.run_key());
    set(environment, "DEADMAN_ATTEMPT", std::to_string(context.attempt()));
    set(environment, "DEADMAN_KIND", job.kind);
    set(environment, "DEADMAN_QUEUE", job.queue);
    set(environment, "DEADMAN_IDEMPOTENCY_KEY", idempotency_key(job.run.job));
    if (deadline != base::SteadyTime::max())
        set(environment, "DEADMAN_DEADLINE",
            base::format_rfc3339(clock.now() + (deadline - clock.steady_now())));
    std::vector<std::string> lines;
    for (const auto& [name, value] : environment)
        lines.push_back(name + "=" + value);
    return lines;
}

std::string last_line(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
        text.remove_suffix(1);
    return std::string(text.substr(text.rfind('\n') + 1));
}

/// What it was, and all that the command said: where it said something on both streams, each under
/// its name.
std::string describe(const std::string& what, const platform::CommandResult& result) {
    if (result.output.empty() && result.error_output.empty())
        return what;
    if (result.output.empty())
        return what + ": " + result.error_output;
    if (result.error_output.empty())
        return what + ": " + result.output;
    const bool line_ended = result.error_output.ends_with('\n');
    return what + "\n[stderr]\n" + result.error_output + (line_ended ? "" : "\n") + "[stdout]\n" +
           result.output;
}

Answer make_error(AnswerKind kind, std::string_view reason, const std::string& what,
                  const platform::CommandResult& result) {
    Answer answer;
    answer.kind = kind;
    answer.reason = reason;
    answer.message = domain::clean_text(describe(what, result), domain::largest_message_bytes);
    return answer;
}

Answer answer_of(const platform::CommandResult& result) {
    if (result.end == platform::CommandEnd::timed_out)
        return make_error(AnswerKind::error, domain::reason_timeout, "the command ran out of time",
                          result);
    if (result.end == platform::CommandEnd::stopped)
        return make_error(AnswerKind::error, "stopped", "the command was stopped", result);
    if (result.status.signal)
        return make_error(AnswerKind::error, "signal",
                          "killed by signal " + std::to_string(*result.status.signal), result);
    const int code = result.status.code.value_or(-1);
    if (code == exit_snooze) {
        Answer answer;
        answer.kind = AnswerKind::snooze;
        answer.delay = domain::parse_duration(last_line(result.output)).value_or(default_snooze);
        return answer;
    }
    const std::string what = "exit code " + std::to_string(code);
    if (code == exit_failed_for_good)
        return make_error(AnswerKind::failed, "exit_code", what, result);
    if (code != 0)
        return make_error(AnswerKind::error, "exit_code", what, result);
    Answer answer;
    answer.result = internal::output_json(
        "\"exit_code\":0", {{"stdout", result.output}, {"stderr", result.error_output}},
        result.truncated);
    return answer;
}

} // namespace

Handler make_exec_handler(ExecOptions options, const base::Clock& clock) {
    return [options = std::move(options), &clock](RunContext& context) {
        platform::CommandRequest request;
        request.deadline = context.deadline();
        if (options.timeout)
            request.deadline = std::min(request.deadline, clock.steady_now() + *options.timeout);
        request.spawn.argv = options.command;
        request.spawn.working_directory = options.working_directory;
        request.spawn.environment = make_environment(options, context, request.deadline, clock);
        request.input = context.claimed().payload;
        request.stop = context.stop_token();
        request.kill_grace = options.kill_grace;
        request.max_output_bytes = options.max_output_bytes;
        const auto result = platform::run_command(request, clock);
        if (result)
            return answer_of(*result);
        Answer answer;
        answer.kind = AnswerKind::error;
        answer.reason = "spawn";
        answer.message = domain::clean_text(result.error().message, domain::largest_message_bytes);
        return answer;
    };
}

} // namespace deadman::worker
