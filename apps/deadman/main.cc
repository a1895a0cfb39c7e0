#include "apps/deadman/command_line.h"
#include "apps/deadman/verb.h"
#include "deadman/platform/terminal.h"

namespace {

constexpr deadman::AddVerb verbs[] = {
#ifdef DEADMAN_WITH_HTTP
    deadman::add_serve_verb,
#endif
    deadman::add_job_verb,          deadman::add_queue_verb,  deadman::add_worker_verb,
    deadman::add_migrate_verb,      deadman::add_doctor_verb, deadman::add_backup_verb,
    deadman::add_config_verb,       deadman::add_bench_verb,  deadman::add_chaos_verb,
    deadman::add_chaos_worker_verb, deadman::add_demo_verb,   deadman::add_version_verb,
    deadman::add_bench_part_verb,
};

} // namespace

int main(int argc, char** argv) {
    deadman::platform::open_closed_streams();
    CLI::App app(
        "A distributed job scheduler: kill a worker mid-job, and its effect still lands once.",
        "deadman");
    app.set_version_flag("--version", "deadman " DEADMAN_VERSION);
    app.require_subcommand(1);
    int exit_code = deadman::exit_ok;
    for (const deadman::AddVerb add : verbs)
        add(app, exit_code);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return deadman::cli::explain(app, error);
    }
    return exit_code;
}
