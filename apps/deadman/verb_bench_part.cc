// deadman bench-part (hidden): what the benchmarks do in processes of their own.

#include <memory>

#include "apps/deadman/bench/part.h"
#include "apps/deadman/output.h"
#include "apps/deadman/verb.h"

namespace deadman {
namespace {

struct PartArguments {
    std::string store;
    std::string file = "-";
    std::int64_t start_at_us = 0;
    bool no_upkeep = false;
    bench::WorkerBrief brief;
    bench::EnqueueLoad load;
};

int exit_code_of_part(const base::Status& status) {
    return status ? int{exit_ok} : cli::report(status.error());
}

void add_worker(CLI::App& part, const std::shared_ptr<PartArguments>& arguments, int& exit_code) {
    CLI::App* verb = part.add_subcommand("work", "");
    bench::WorkerBrief& brief = arguments->brief;
    verb->add_option("--store", arguments->store)->required();
    verb->add_option("--queues", brief.queues)->delimiter(',')->required();
    verb->add_option("--slots", brief.slots);
    verb->add_option("--prefetch", brief.prefetch);
    verb->add_option("--tell", arguments->file);
    verb->add_flag("--tell-starts", brief.tell_starts);
    verb->add_flag("--tell-returns", brief.tell_returns);
    verb->add_flag("--no-upkeep", arguments->no_upkeep);
    verb->callback([arguments, &exit_code] {
        arguments->brief.upkeep = !arguments->no_upkeep;
        exit_code = exit_code_of_part(
            bench::run_worker_part(arguments->store, arguments->brief, arguments->file));
    });
}

void add_enqueue(CLI::App& part, const std::shared_ptr<PartArguments>& arguments, int& exit_code) {
    CLI::App* verb = part.add_subcommand("enqueue", "");
    bench::EnqueueLoad& load = arguments->load;
    verb->add_option("--store", arguments->store)->required();
    verb->add_option("--queue", load.queue)->required();
    verb->add_option("--jobs", load.jobs);
    verb->add_option("--threads", load.threads);
    verb->add_option("--batch", load.batch);
    verb->add_option("--payload-bytes", load.payload_bytes);
    verb->add_option("--kind", load.kind);
    verb->add_flag("--transactional", load.transactional);
    verb->add_option("--start-at", arguments->start_at_us);
    verb->callback([arguments, &exit_code] {
        exit_code = exit_code_of_part(
            bench::run_enqueue_part(arguments->store, arguments->load, arguments->start_at_us));
    });
}

} // namespace

void add_bench_part_verb(CLI::App& app, int& exit_code) {
    CLI::App* part = app.add_subcommand("bench-part", "")->group("");
    part->require_subcommand(1);
    const auto arguments = std::make_shared<PartArguments>();
    add_worker(*part, arguments, exit_code);
    add_enqueue(*part, arguments, exit_code);
    part->add_subcommand("server", "")->callback([&exit_code] {
        exit_code = exit_code_of_part(bench::run_server_part());
    });
}

} // namespace deadman
