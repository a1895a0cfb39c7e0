// deadman job show: one job, its runs, and why it is where it is.

#include <format>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/job_explain.h"
#include "apps/deadman/job_json.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/local_time.h"
#include "apps/deadman/verb_job.h"
#include "deadman/base/clock.h"
#include "deadman/base/duration_text.h"

namespace deadman {
namespace {

struct ShowArguments {
    cli::Surface surface;
    cli::ConfigFlags config;
    std::string id;
};

/// "exec", "http", "sql", or nothing where this machine's configuration does not know the kind.
std::string handler_of(const std::string& kind, const cli::ConfigFlags& flags) {
    const auto config = cli::load_config(flags);
    if (!config) {
        cli::say("the configuration cannot be read: " + config.error().message);
        return "";
    }
    const auto found = config->handlers.find(kind);
    if (found == config->handlers.end())
        return "";
    if (std::holds_alternative<config::ExecHandler>(found->second))
        return "exec";
    return std::holds_alternative<config::HttpHandler>(found->second) ? "http" : "sql";
}

std::string pair(std::string_view name, std::string_view value) {
    return value.empty() ? "" : std::format("{:<12} {}\n", name, cli::one_line(value));
}

std::string facts(const store::JobRecord& job, const cli::LocalTime& local) {
    std::string text = pair("job", std::to_string(job.id.value));
    text += pair("kind", job.kind);
    text += pair("state", domain::job_state_name(job.state));
    text += pair("queue", std::format("{}, priority {}", job.queue, job.priority));
    text += pair("attempts", std::format("{} of {}, retry {}", job.attempts_spent, job.max_attempts,
                                         domain::format_retry_policy(job.retry)));
    text += pair("timeout",
                 job.timeout == base::Duration{} ? "none" : base::format_duration(job.timeout));
    text += pair("unique key", job.unique_key);
    text += pair("created", local.text(job.created_at));
    text += pair("due", local.text(job.due));
    if (job.finished_at)
        text += pair("finished", local.text(job.finished_at));
    text += pair("payload", cli::cut_to(cli::one_line(job.payload), 2'000));
    text += pair("result", cli::cut_to(cli::one_line(job.result), 2'000));
    return text;
}

std::string runs_table(const std::vector<store::RunRecord>& runs, const cli::LocalTime& local) {
    if (runs.empty())
        return "";
    cli::Table table({"FENCE", "OUTCOME", "WORKER", "CLAIMED", "ENDED", "WHY"});
    for (const store::RunRecord& run : runs) {
        std::string why = run.reason;
        if (!run.message.empty())
            why += (why.empty() ? "" : ": ") + run.message;
        table.add({std::to_string(run.fence.value), std::string(domain::outcome_name(run.outcome)),
                   run.worker, local.text(run.claimed_at), local.text(run.finished_at),
                   cli::cut_to(cli::one_line(why), 100)});
    }
    return "\n" + table.text();
}

base::Result<cli::Surroundings> look_around(cli::JobBackend& backend) {
    cli::Surroundings around;
    DEADMAN_TRY(around.queues, backend.queues());
    DEADMAN_TRY(around.sessions, backend.sessions());
    DEADMAN_TRY(around.now, backend.now());
    return around;
}

base::Result<int> show(const ShowArguments& arguments, domain::JobId id, cli::JobBackend& backend) {
    DEADMAN_TRY(const auto job, backend.find(id));
    if (!job)
        return base::fail(base::ErrorCode::not_found, "there is no job " + arguments.id);
    DEADMAN_TRY(const auto runs, backend.runs(id));
    if (arguments.surface.output != cli::OutputFormat::table) {
        const std::string json = cli::job_json(*job, runs);
        arguments.surface.output == cli::OutputFormat::json ? cli::print_json(json)
                                                            : cli::print_json_line(json);
        return exit_ok;
    }
    DEADMAN_TRY(const cli::Surroundings around, look_around(backend));
    const cli::LocalTime local = cli::LocalTime::here();
    std::string text = facts(*job, local) + runs_table(runs, local) + "\n";
    for (const std::string& line : cli::explain_job(*job, around, local))
        text += cli::one_line(line) + "\n";
    text += cli::explain_effects(handler_of(job->kind, arguments.config)) + "\n";
    cli::print(text);
    return exit_ok;
}

base::Result<int> run(const ShowArguments& arguments) {
    base::SystemClock clock;
    DEADMAN_TRY(const domain::JobId id, parse_job_id(arguments.id));
    return cli::on_backend(arguments.surface, clock,
                           [&](cli::JobBackend& backend) { return show(arguments, id, backend); });
}

} // namespace

void add_job_show(CLI::App& job, int& exit_code) {
    CLI::App* verb = job.add_subcommand("show", "One job with its runs, and why it is where it is");
    const auto arguments = std::make_shared<ShowArguments>();
    verb->add_option("ID", arguments->id, "The job")->required();
    cli::add_surface(*verb, arguments->surface);
    cli::add_config_flags(*verb, arguments->config, {});
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(run(*arguments)); });
}

} // namespace deadman
