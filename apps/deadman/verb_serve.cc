// deadman serve: the whole system in one process.

#include <memory>

#include "apps/deadman/load_config.h"
#include "apps/deadman/output.h"
#include "apps/deadman/serve_process.h"
#include "apps/deadman/verb.h"

namespace deadman {
namespace {

struct ServeFlags {
    cli::ConfigFlags config;
    bool no_worker = false;
};

base::Result<int> run(const ServeFlags& flags) {
    base::SystemClock clock;
    DEADMAN_TRY(const config::Config config, cli::load_config(flags.config));
    DEADMAN_TRY_STATUS(cli::run_serve_process(config, {.with_worker = !flags.no_worker}, clock));
    return exit_ok;
}

/// A server that could not start is a failure like any other, whatever was missing; what is wrong
/// in its command line or configuration is a usage error.
int exit_code_of_serve(const base::Result<int>& result) {
    if (result)
        return *result;
    cli::say(result.error().message);
    if (result.error().code == base::ErrorCode::cancelled)
        return exit_ok;
    return result.error().code == base::ErrorCode::invalid_argument ? exit_usage : exit_error;
}

} // namespace

void add_serve_verb(CLI::App& app, int& exit_code) {
    CLI::App* serve = app.add_subcommand(
        "serve", "Run the API, a worker and the upkeep over one store, in one process");
    const auto flags = std::make_shared<ServeFlags>();
    cli::add_config_flags(*serve, flags->config, {"", "worker", "lease", "limits"});
    serve->add_flag("--no-worker", flags->no_worker, "Only the API and the upkeep");
    serve->callback([flags, &exit_code] { exit_code = exit_code_of_serve(run(*flags)); });
}

} // namespace deadman
