// deadman queue list, pause, resume.

#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/job_json.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/local_time.h"
#include "apps/deadman/verb.h"
#include "deadman/base/clock.h"

namespace deadman {
namespace {

struct QueueArguments {
    cli::Surface surface;
    std::vector<std::string> names;
};

void print_queues(const std::vector<store::QueueRecord>& queues, base::TimePoint now) {
    cli::Table table({"QUEUE", "STATE", "PENDING", "SCHEDULED", "RUNNING", "OLDEST WAITS"});
    for (const store::QueueRecord& queue : queues)
        table.add({queue.name, queue.paused ? "paused" : "active", std::to_string(queue.pending),
                   std::to_string(queue.scheduled), std::to_string(queue.running),
                   queue.oldest_pending ? cli::rough_duration(now - *queue.oldest_pending) : "-"});
    cli::print(table.text());
}

base::Result<int> list(const QueueArguments& arguments, cli::JobBackend& backend) {
    DEADMAN_TRY(const auto queues, backend.queues());
    if (arguments.surface.output == cli::OutputFormat::table) {
        DEADMAN_TRY(const base::TimePoint now, backend.now());
        print_queues(queues, now);
        return exit_ok;
    }
    std::vector<std::string> items;
    for (const store::QueueRecord& queue : queues)
        items.push_back(cli::queue_json(queue));
    cli::print_items(items, arguments.surface.output);
    return exit_ok;
}

using Change = base::Status (cli::JobBackend::*)(const std::string& queue);

base::Result<int> change(const QueueArguments& arguments, Change change, const char* done,
                         cli::JobBackend& backend) {
    std::vector<std::string> items;
    for (const std::string& name : arguments.names) {
        DEADMAN_TRY_STATUS((backend.*change)(name));
        items.push_back(cli::JsonObject()
                            .text("name", name)
                            .boolean("paused", std::string_view(done) == "paused")
                            .str());
        if (arguments.surface.output == cli::OutputFormat::table)
            cli::print("queue " + cli::one_line(name) + " " + done + "\n");
    }
    if (arguments.surface.output != cli::OutputFormat::table)
        cli::print_items(items, arguments.surface.output);
    return exit_ok;
}

void add_change(CLI::App& queue, int& exit_code, const char* name, const char* sentence, Change how,
                const char* done) {
    CLI::App* verb = queue.add_subcommand(name, sentence);
    const auto arguments = std::make_shared<QueueArguments>();
    verb->add_option("QUEUE", arguments->names, "The queues")->required();
    cli::add_surface(*verb, arguments->surface);
    verb->callback([arguments, how, done, &exit_code] {
        base::SystemClock clock;
        exit_code = cli::exit_code_after(
            cli::on_backend(arguments->surface, clock, [&](cli::JobBackend& backend) {
                return change(*arguments, how, done, backend);
            }));
    });
}

} // namespace

void add_queue_verb(CLI::App& app, int& exit_code) {
    CLI::App* queue = app.add_subcommand("queue", "Queues: how full they are, pause, resume");
    queue->require_subcommand(1);
    CLI::App* verb = queue->add_subcommand("list", "All queues with what waits in them");
    const auto arguments = std::make_shared<QueueArguments>();
    cli::add_surface(*verb, arguments->surface);
    verb->callback([arguments, &exit_code] {
        base::SystemClock clock;
        exit_code = cli::exit_code_after(
            cli::on_backend(arguments->surface, clock,
                            [&](cli::JobBackend& backend) { return list(*arguments, backend); }));
    });
    add_change(*queue, exit_code, "pause", "Let nothing more of it start",
               &cli::JobBackend::pause_queue, "paused");
    add_change(*queue, exit_code, "resume", "Let it go on", &cli::JobBackend::resume_queue,
               "resumed");
}

} // namespace deadman
