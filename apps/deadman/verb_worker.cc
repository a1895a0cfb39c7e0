// deadman worker: runs a worker process. deadman worker list: which there are.

#include <format>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/job_explain.h"
#include "apps/deadman/job_json.h"
#include "apps/deadman/load_config.h"
#include "apps/deadman/verb.h"
#include "apps/deadman/worker_process.h"

namespace deadman {
namespace {

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : ",") + text;
    return all;
}

std::string state_of(const store::SessionRecord& session, base::TimePoint now) {
    if (session.ended_at)
        return "ended" + (session.end_reason.empty() ? "" : " (" + session.end_reason + ")");
    return cli::is_live(session, now) ? "live" : "silent";
}

void print_workers(const std::vector<store::SessionRecord>& sessions, base::TimePoint now) {
    cli::Table table({"SESSION", "NAME", "STATE", "HOST", "PID", "SLOTS", "RUNNING", "HELD",
                      "RENEWED", "QUEUES", "KINDS"});
    for (const store::SessionRecord& session : sessions)
        table.add({std::to_string(session.id.value), session.worker, state_of(session, now),
                   session.host, std::to_string(session.pid), std::to_string(session.slots),
                   std::to_string(session.running), std::to_string(session.held),
                   cli::rough_duration(now - session.renewed_at) + " ago",
                   cli::cut_to(cli::one_line(joined(session.queues)), 40),
                   cli::cut_to(cli::one_line(joined(session.kinds)), 60)});
    cli::print(table.text());
}

base::Result<int> list(const cli::Surface& surface, cli::JobBackend& backend) {
    DEADMAN_TRY(const auto sessions, backend.sessions());
    if (surface.output == cli::OutputFormat::table) {
        DEADMAN_TRY(const base::TimePoint now, backend.now());
        print_workers(sessions, now);
        return exit_ok;
    }
    std::vector<std::string> items;
    for (const store::SessionRecord& session : sessions)
        items.push_back(cli::worker_json(session));
    cli::print_items(items, surface.output);
    return exit_ok;
}

base::Result<int> run(const cli::ConfigFlags& flags) {
    base::SystemClock clock;
    DEADMAN_TRY(const config::Config config, cli::load_config(flags));
    DEADMAN_TRY_STATUS(cli::run_worker_process(config, clock));
    return exit_ok;
}

/// Its one line on standard output is a courtesy: where it cannot be written nothing is amiss.
int exit_code_of_worker(const base::Result<int>& result) {
    return result ? *result : cli::report(result.error());
}

} // namespace

void add_worker_verb(CLI::App& app, int& exit_code) {
    CLI::App* worker = app.add_subcommand("worker", "Run a worker process; list workers");
    const auto flags = std::make_shared<cli::ConfigFlags>();
    cli::add_config_flags(*worker, *flags, {"", "worker", "lease", "limits"});
    worker->add_option_function<std::string>(
        "--name", [flags](const std::string& name) { flags->flags["worker-name"] = name; },
        "The same as --worker-name");
    worker->callback([worker, flags, &exit_code] {
        if (worker->get_subcommands().empty())
            exit_code = exit_code_of_worker(run(*flags));
    });
    CLI::App* verb = worker->add_subcommand("list", "Worker sessions, live and lately ended");
    const auto surface = std::make_shared<cli::Surface>();
    cli::add_surface(*verb, *surface);
    verb->callback([surface, &exit_code] {
        base::SystemClock clock;
        exit_code = cli::exit_code_after(cli::on_backend(
            *surface, clock, [&](cli::JobBackend& backend) { return list(*surface, backend); }));
    });
}

} // namespace deadman
