// deadman job cancel, retry, delete: for any number of jobs; one that cannot be changed does not
// keep the others from it.

#include <format>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/verb_job.h"
#include "deadman/base/clock.h"

namespace deadman {
namespace {

struct ChangeArguments {
    cli::Surface surface;
    std::vector<std::string> ids;
};

/// What became of one job: a stable word, or an error.
using Change = base::Result<std::string> (*)(cli::JobBackend& backend, domain::JobId id);

base::Result<std::string> cancel(cli::JobBackend& backend, domain::JobId id) {
    DEADMAN_TRY(const store::CancelAnswer answer, backend.cancel(id));
    switch (answer) {
    case store::CancelAnswer::cancelled:
        return std::string("cancelled");
    case store::CancelAnswer::requested:
        return std::string("requested");
    case store::CancelAnswer::already_finished:
        return base::fail(base::ErrorCode::conflict, "it has finished already");
    case store::CancelAnswer::not_found:
        return base::fail(base::ErrorCode::not_found, "there is no such job");
    case store::CancelAnswer::unknown:
        break;
    }
    return base::fail(base::ErrorCode::exhausted,
                      "nothing was accepted in time. If its run is in a transaction, its worker "
                      "has been asked to stop it: it ends as cancelled unless that commits first; "
                      "look with 'deadman job show', or cancel again");
}

base::Result<std::string> retry(cli::JobBackend& backend, domain::JobId id) {
    DEADMAN_TRY_STATUS(backend.retry(id));
    return std::string("pending");
}

base::Result<std::string> remove(cli::JobBackend& backend, domain::JobId id) {
    DEADMAN_TRY_STATUS(backend.remove(id));
    return std::string("deleted");
}

std::string_view in_words(std::string_view outcome) {
    return outcome == "requested" ? "is asked to stop and will be cancelled" : outcome;
}

std::string item_json(domain::JobId id, const base::Result<std::string>& outcome) {
    cli::JsonObject item;
    item.text("id", std::to_string(id.value));
    if (outcome)
        return item.text("outcome", *outcome).str();
    return item.raw("outcome", "null")
        .text("code", base::error_code_name(outcome.error().code))
        .text("detail", outcome.error().message)
        .str();
}

base::Result<int> change_all(cli::JobBackend& backend, const std::vector<domain::JobId>& ids,
                             Change change, cli::OutputFormat output) {
    std::vector<std::string> items;
    int exit_code = exit_ok; // of the first that failed
    for (const domain::JobId id : ids) {
        const auto outcome = change(backend, id);
        if (!outcome && backend.is_unauthorised())
            return outcome.error(); // and so it will be for the others
        if (!outcome) {
            cli::say(std::format("job {}: {}", id.value, outcome.error().message));
            exit_code = exit_code == exit_ok ? exit_code_of(outcome.error().code) : exit_code;
        }
        items.push_back(item_json(id, outcome));
        if (output == cli::OutputFormat::table && outcome)
            cli::print(std::format("job {} {}\n", id.value, in_words(*outcome)));
    }
    if (output != cli::OutputFormat::table)
        cli::print_items(items, output);
    return exit_code;
}

base::Result<int> run(const ChangeArguments& arguments, Change change) {
    base::SystemClock clock;
    DEADMAN_TRY(const auto ids, parse_job_ids(arguments.ids));
    return cli::on_backend(arguments.surface, clock, [&](cli::JobBackend& backend) {
        return change_all(backend, ids, change, arguments.surface.output);
    });
}

void add_change(CLI::App& job, int& exit_code, const char* name, const char* sentence,
                Change change) {
    CLI::App* verb = job.add_subcommand(name, sentence);
    const auto arguments = std::make_shared<ChangeArguments>();
    verb->add_option("ID", arguments->ids, "The jobs")->required();
    cli::add_surface(*verb, arguments->surface);
    verb->callback([arguments, change, &exit_code] {
        exit_code = cli::exit_code_after(run(*arguments, change));
    });
}

} // namespace

void add_job_changes(CLI::App& job, int& exit_code) {
    add_change(job, exit_code, "cancel", "Keep jobs from running; ask running ones to stop",
               cancel);
    add_change(job, exit_code, "retry", "Start failed, cancelled or expired jobs anew", retry);
    add_change(job, exit_code, "delete", "Forget finished jobs and their runs", remove);
}

} // namespace deadman
