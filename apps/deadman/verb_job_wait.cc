// deadman job wait: until a job has ended, for scripts.

#include <algorithm>
#include <format>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/interruption.h"
#include "apps/deadman/job_json.h"
#include "apps/deadman/option_values.h"
#include "apps/deadman/verb_job.h"

namespace deadman {
namespace {

using namespace std::chrono_literals;

struct WaitArguments {
    cli::Surface surface;
    std::string id;
    base::Duration timeout{}; // none
};

void print_end(const store::JobRecord& job, cli::OutputFormat output) {
    if (output == cli::OutputFormat::json)
        cli::print_json(cli::job_json(job));
    else if (output == cli::OutputFormat::jsonl)
        cli::print_json_line(cli::job_json(job));
    else
        cli::print(std::format("job {} {}{}\n", job.id.value, domain::job_state_name(job.state),
                               job.reason.empty() ? "" : " (" + cli::one_line(job.reason) + ")"));
}

base::Result<store::JobRecord> look(cli::JobBackend& backend, domain::JobId id) {
    DEADMAN_TRY(auto job, backend.find(id));
    if (!job)
        return base::fail(base::ErrorCode::not_found,
                          "there is no job " + std::to_string(id.value));
    return std::move(*job);
}

base::Result<int> wait(const WaitArguments& arguments, domain::JobId id, cli::JobBackend& backend,
                       base::Clock& clock, cli::Interruption& interruption) {
    const bool bounded = arguments.timeout > base::Duration{};
    const base::SteadyTime deadline = clock.steady_now() + arguments.timeout;
    base::Duration pause = 50ms;
    while (true) {
        const auto job = look(backend, id);
        // A server that restarts is waited for; one that is not there at first was an error.
        if (!job && (job.error().code != base::ErrorCode::unavailable || pause == 50ms))
            return job.error();
        if (job && domain::is_terminal(job->state)) {
            print_end(*job, arguments.surface.output);
            return job->state == domain::JobState::succeeded ? exit_ok : exit_job_failed;
        }
        const base::SteadyTime now = clock.steady_now();
        if (bounded && now >= deadline) {
            cli::say(std::format("job {} has not ended in time{}", id.value,
                                 job ? std::format(": it is {}", domain::job_state_name(job->state))
                                     : ""));
            return exit_timeout;
        }
        if (!interruption.pause(bounded ? std::min(pause, deadline - now) : pause))
            return exit_interrupted;
        pause = std::min<base::Duration>(pause * 2, 1s);
    }
}

base::Result<int> run(const WaitArguments& arguments) {
    base::SystemClock clock;
    DEADMAN_TRY(const domain::JobId id, parse_job_id(arguments.id));
    DEADMAN_TRY(const auto interruption, cli::Interruption::watch(clock));
    return cli::on_backend(arguments.surface, clock, [&](cli::JobBackend& backend) {
        return wait(arguments, id, backend, clock, *interruption);
    });
}

} // namespace

void add_job_wait(CLI::App& job, int& exit_code) {
    CLI::App* verb = job.add_subcommand(
        "wait", "Wait until a job has ended: exits 0 if it succeeded, 6 if not, 7 on a time-out");
    const auto arguments = std::make_shared<WaitArguments>();
    verb->add_option("ID", arguments->id, "The job")->required();
    add_duration(*verb, "--timeout", arguments->timeout, "Give up after this; 0: never");
    cli::add_surface(*verb, arguments->surface);
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(run(*arguments)); });
}

} // namespace deadman
