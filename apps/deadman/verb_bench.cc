// deadman bench: jobs that do nothing, per store, in jobs a second.

#include <format>
#include <memory>
#include <thread>

#include "apps/deadman/bench/bench_run.h"
#include "apps/deadman/bench/verbs.h"
#include "apps/deadman/connect.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/store_url.h"
#include "apps/deadman/verb.h"
#include "apps/deadman/versions.h"

namespace deadman {
namespace {

struct BenchArguments {
    std::vector<std::string> stores;
    cli::BenchOptions options;
    cli::OutputFormat output = cli::OutputFormat::table;
};

std::vector<std::string> default_stores() {
    return {"memory:", "sqlite:auto", "postgres:auto"};
}

double per_second(int jobs, base::Duration duration) {
    const double seconds = std::chrono::duration<double>(duration).count();
    return seconds > 0 ? jobs / seconds : 0;
}

struct Row {
    std::string store;
    double enqueue = 0;
    double direct = 0;
    double workers = 0;
};

base::Result<Row> measure(const std::string& text, const cli::BenchOptions& options) {
    base::SystemClock clock;
    DEADMAN_TRY(const StoreUrl asked, parse_store_url(text));
    DEADMAN_TRY(const auto throwaway, ThrowawayStore::resolve(asked));
    DEADMAN_TRY(const auto store, open_store(throwaway.url(), clock));
    DEADMAN_TRY_STATUS(store->migrate());
    DEADMAN_TRY(const cli::BenchResult result, cli::run_bench(*store, clock, options));
    return Row{.store = asked.redacted(),
               .enqueue = per_second(options.jobs, result.enqueue),
               .direct = per_second(options.jobs, result.direct_drain),
               .workers = per_second(options.jobs, result.worker_drain)};
}

void print_table(const std::vector<Row>& rows) {
    const auto whole = [](double value) { return std::format("{:.0f}", value); };
    cli::Table table({"STORE", "ENQUEUE/S", "DRAIN/S (BATCHES)", "DRAIN/S (WORKERS)"});
    for (const Row& row : rows)
        table.add({row.store, whole(row.enqueue), whole(row.direct), whole(row.workers)});
    cli::print(table.text());
}

void print_json(const std::vector<Row>& rows, const BenchArguments& arguments) {
    const cli::BenchOptions& options = arguments.options;
    cli::JsonArray results;
    for (const Row& row : rows)
        results.raw(cli::JsonObject()
                        .text("store", row.store)
                        .real("enqueued_per_s", row.enqueue)
                        .real("drained_per_s_batches", row.direct)
                        .real("drained_per_s_workers", row.workers)
                        .str());
    const cli::Versions versions = cli::versions();
    cli::print_json(cli::JsonObject()
                        .text("version", versions.deadman)
                        .text("commit", versions.commit)
                        .number("cores", std::thread::hardware_concurrency())
                        .number("jobs", options.jobs)
                        .number("batch", options.batch)
                        .number("threads", options.threads)
                        .number("workers", options.workers)
                        .number("slots", options.slots)
                        .number("prefetch", options.prefetch)
                        .raw("results", results.str())
                        .str());
}

base::Result<int> run(const BenchArguments& arguments) {
    const auto stores = arguments.stores.empty() ? default_stores() : arguments.stores;
    std::vector<Row> rows;
    for (const std::string& store : stores) {
        DEADMAN_TRY(const StoreUrl url, parse_store_url(store));
        cli::say(std::format("{} no-op jobs through {}", arguments.options.jobs, url.redacted()));
        DEADMAN_TRY(Row row, measure(store, arguments.options));
        rows.push_back(std::move(row));
    }
    if (arguments.output == cli::OutputFormat::table)
        print_table(rows);
    else
        print_json(rows, arguments);
    return exit_ok;
}

} // namespace

void add_bench_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb =
        app.add_subcommand("bench", "Measure stores and workers with jobs that do nothing");
    const auto arguments = std::make_shared<BenchArguments>();
    cli::BenchOptions& options = arguments->options;
    verb->add_option("--store", arguments->stores,
                     "memory:, sqlite:auto, postgres:auto, or a URL; several are measured in turn "
                     "(default: all three)")
        ->type_name("URL");
    verb->add_option("--jobs", options.jobs, "For each measurement")
        ->check(CLI::Range(1, 100'000'000))
        ->capture_default_str();
    verb->add_option("--batch", options.batch, "Jobs in an enqueue or a claim")
        ->check(CLI::Range(1, 10'000))
        ->capture_default_str();
    verb->add_option("--threads", options.threads, "That claim and complete batches")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    verb->add_option("--workers", options.workers, "Whole workers, in this process")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    verb->add_option("--slots", options.slots, "Of each worker; 0: twice the cores")
        ->check(CLI::Range(0, 1'024))
        ->capture_default_str();
    verb->add_option("--prefetch", options.prefetch, "Of each worker")
        ->check(CLI::Range(0, 100'000))
        ->capture_default_str();
    cli::add_output(*verb, arguments->output);
    bench::add_verbs(*verb, exit_code);
    verb->callback([verb, arguments, &exit_code] {
        if (verb->get_subcommands().empty())
            exit_code = cli::exit_code_after(run(*arguments));
    });
}

} // namespace deadman
