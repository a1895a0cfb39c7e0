#include "apps/deadman/bench/verbs.h"

#include <format>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "apps/deadman/bench/depth_bench.h"
#include "apps/deadman/bench/drain_bench.h"
#include "apps/deadman/bench/enqueue_bench.h"
#include "apps/deadman/bench/horizon_bench.h"
#include "apps/deadman/bench/latency_bench.h"
#include "apps/deadman/bench/measurement.h"
#include "apps/deadman/bench/mixed_bench.h"
#include "apps/deadman/command_line.h"
#include "apps/deadman/exit_codes.h"
#include "apps/deadman/option_values.h"
#include "apps/deadman/output.h"
#include "apps/deadman/versions.h"

namespace deadman::bench {
namespace {

using Measure = std::function<base::Result<Measurement>(const Bench&)>;

/// What all of them take.
struct CommonFlags {
    std::string store = "postgres:auto";
    bool json = false;
};

/// The processes that were runnable in the last minute, on average: how quiet the machine was.
std::string load_of_machine() {
    std::ifstream file("/proc/loadavg");
    std::string one = "0";
    file >> one;
    return one;
}

base::Result<int> run(const std::string& name, const CommonFlags& flags, const Measure& measure) {
    base::SystemClock clock;
    const std::string load = load_of_machine();
    DEADMAN_TRY(const auto target, BenchTarget::open(flags.store, clock));
    ProgressLine progress(clock);
    DEADMAN_TRY(const Measurement measured,
                measure({.clock = clock, .target = *target, .progress = progress}));
    progress.finish();
    if (!flags.json) {
        for (const std::string& line : measured.lines)
            cli::print(std::format("{} {}: {}\n", name, target->name(), line));
        return measured.held ? exit_ok : exit_error;
    }
    const cli::Versions versions = cli::versions();
    const std::string head = cli::JsonObject()
                                 .text("bench", name)
                                 .text("store", target->name())
                                 .text("version", versions.deadman)
                                 .text("commit", versions.commit)
                                 .number("cores", std::thread::hardware_concurrency())
                                 .raw("load_before", load)
                                 .str();
    // One object: the head, then what was measured.
    cli::print_json(head.substr(0, head.size() - 1) + "," + measured.json.str().substr(1));
    return measured.held ? exit_ok : exit_error;
}

/// Options between `bench` and one of its verbs would be lost in silence.
bool has_own_options(const CLI::App& bench) {
    for (const CLI::Option* option : bench.get_options())
        if (option->count() > 0)
            return true;
    return false;
}

CLI::App* add_verb(CLI::App& bench, const char* name, const char* what, int& exit_code,
                   const Measure& measure) {
    CLI::App* verb = bench.add_subcommand(name, what);
    const auto flags = std::make_shared<CommonFlags>();
    verb->add_option("--store", flags->store,
                     "memory:, sqlite:auto, postgres:auto (throwaway ones), or a URL")
        ->type_name("URL")
        ->capture_default_str();
    verb->add_flag("--json", flags->json, "One JSON object instead of lines");
    verb->callback([&bench, verb, name = std::string(name), flags, measure, &exit_code] {
        if (has_own_options(bench))
            exit_code =
                cli::usage_error(*verb, "options come after the verb: `bench drain --jobs N`");
        else
            exit_code = cli::exit_code_after(run(name, *flags, measure));
    });
    return verb;
}

void add_count(CLI::App& verb, const char* name, int& value, const char* what, int least,
               int most) {
    verb.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
}

void add_payload(CLI::App& verb, int& bytes) {
    add_count(verb, "--payload-bytes", bytes, "Of each job, about", 2, 1'000'000);
}

void add_enqueue(CLI::App& bench, int& exit_code) {
    const auto options = std::make_shared<EnqueueBench>();
    CLI::App* verb = add_verb(
        bench, "enqueue", "Jobs put in, each call acknowledged after its commit", exit_code,
        [options](const Bench& with) { return measure_enqueue(with, *options); });
    add_count(*verb, "--jobs", options->load.jobs, "In all", 1, 100'000'000);
    add_count(*verb, "--threads", options->load.threads, "Of one process", 1, 256);
    add_count(*verb, "--processes", options->processes, "Instead: processes of one thread", 1, 64);
    add_count(*verb, "--batch", options->load.batch, "Jobs in a call", 1, 10'000);
    verb->add_flag("--http", options->http,
                   "Through a server started for it, from clients that keep their connections");
    add_count(*verb, "--connections", options->connections, "Of --http", 1, 256);
    add_payload(*verb, options->load.payload_bytes);
    verb->get_option("--http")->excludes("--processes")->excludes("--threads");
    verb->get_option("--processes")->excludes("--threads");
}

void add_drain(CLI::App& bench, int& exit_code) {
    const auto options = std::make_shared<DrainBench>();
    CLI::App* verb =
        add_verb(bench, "drain", "A queue drained by worker processes", exit_code,
                 [options](const Bench& with) { return measure_drain(with, *options); });
    add_count(*verb, "--jobs", options->jobs, "In the queue", 1, 100'000'000);
    add_count(*verb, "--workers", options->workers, "Processes", 1, 64);
    add_count(*verb, "--slots", options->slots, "Of each; 0: the worker's default", 0, 1'024);
    add_count(*verb, "--prefetch", options->prefetch, "Of each; -1: the worker's default", -1,
              100'000);
    verb->add_flag("--transactional", options->transactional,
                   "Each job has a lease of its own and ends together with an insert");
    add_payload(*verb, options->payload_bytes);
}

void add_latency(CLI::App& bench, int& exit_code) {
    const auto options = std::make_shared<LatencyBench>();
    CLI::App* verb = add_verb(
        bench, "latency", "From the call of enqueue to the handler's start, at a steady rate",
        exit_code, [options](const Bench& with) { return measure_latency(with, *options); });
    add_count(*verb, "--rate", options->rate, "Jobs a second", 1, 10'000);
    add_count(*verb, "--seconds", options->seconds, "How long", 1, 3'600);
    add_count(*verb, "--workers", options->workers, "Processes", 1, 64);
    verb->add_option("--open-transactions", options->open_transactions,
                     "Share of the enqueues that are made in a transaction that stays open")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    add_duration(*verb, "--hold", options->hold, "How long such a transaction stays open");
    add_payload(*verb, options->payload_bytes);
}

void add_depth(CLI::App& bench, int& exit_code) {
    const auto options = std::make_shared<DepthBench>();
    CLI::App* verb =
        add_verb(bench, "depth", "The same claims with a thousand and with very many waiting",
                 exit_code, [options](const Bench& with) { return measure_depth(with, *options); });
    add_count(*verb, "--jobs", options->jobs, "Waiting; a tenth as many are due later", 1,
              100'000'000);
    add_count(*verb, "--claims", options->claims, "Timed at each depth", 1, 100'000);
    add_count(*verb, "--batch", options->batch, "Jobs in each", 1, 1'000);
    add_payload(*verb, options->payload_bytes);
}

void add_horizon(CLI::App& bench, int& exit_code) {
    const auto options = std::make_shared<HorizonBench>();
    CLI::App* verb = add_verb(
        bench, "horizon", "A stream of jobs while another session pins a snapshot", exit_code,
        [options](const Bench& with) { return measure_horizon(with, *options); });
    add_count(*verb, "--jobs", options->jobs, "Through, for each size of claim", 10'000,
              100'000'000);
    add_payload(*verb, options->payload_bytes);
}

void add_mixed(CLI::App& bench, int& exit_code) {
    const auto options = std::make_shared<MixedBench>();
    CLI::App* verb = add_verb(
        bench, "mixed", "A steady stream with delays, retries, snoozes, three queues, priorities",
        exit_code, [options](const Bench& with) { return measure_mixed(with, *options); });
    add_count(*verb, "--rate", options->rate, "Jobs a second", 1, 100'000);
    add_count(*verb, "--seconds", options->seconds, "How long", 1, 3'600);
    add_count(*verb, "--workers", options->workers, "Processes", 1, 64);
    verb->add_option("--seed", options->seed, "Of what each job does")->capture_default_str();
    add_payload(*verb, options->payload_bytes);
}

} // namespace

void add_verbs(CLI::App& bench, int& exit_code) {
    bench.require_subcommand(0, 1);
    add_enqueue(bench, exit_code);
    add_drain(bench, exit_code);
    add_latency(bench, exit_code);
    add_depth(bench, exit_code);
    add_horizon(bench, exit_code);
    add_mixed(bench, exit_code);
}

} // namespace deadman::bench
