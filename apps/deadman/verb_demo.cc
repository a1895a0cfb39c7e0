// deadman demo: real files, hashed by workers that are killed all the while.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <yyjson.h>

#include "apps/deadman/chaos_run.h"
#include "apps/deadman/demo/demo_folder.h"
#include "apps/deadman/demo/file_sample.h"
#include "apps/deadman/demo/hash_check.h"
#include "apps/deadman/option_values.h"
#include "apps/deadman/verb.h"
#include "deadman/platform/paths.h"
#include "deadman/platform/process.h"

namespace deadman {
namespace {

// A crash count of three would quarantine jobs here that did nothing wrong but run on killed
// workers.
constexpr int raised_max_crashes = 1'000'000;
constexpr std::size_t most_named = 20;

struct DemoArguments {
    std::string folder;
    std::string files_below = "/usr";
    std::size_t files = 2'000;
    std::uint64_t seed = 1;
    double kill_rate = 0.4;
    base::Duration lease = std::chrono::seconds(8);
};

std::string payload(std::size_t number, const std::string& path) {
    yyjson_mut_doc* document = yyjson_mut_doc_new(nullptr);
    yyjson_mut_val* root = yyjson_mut_obj(document);
    yyjson_mut_doc_set_root(document, root);
    yyjson_mut_obj_add_uint(document, root, "n", number);
    yyjson_mut_obj_add_strn(document, root, "path", path.data(), path.size());
    const std::unique_ptr<char, decltype(&std::free)> text(yyjson_mut_write(document, 0, nullptr),
                                                           &std::free);
    yyjson_mut_doc_free(document);
    return text ? text.get() : "{}";
}

base::Result<std::string> chosen_folder(const DemoArguments& arguments) {
    if (!arguments.folder.empty())
        return arguments.folder;
    DEADMAN_TRY(const std::string data, platform::default_data_directory());
    return data + "/demo";
}

base::Result<chaos::HarnessOptions> harness_options(const DemoArguments& arguments,
                                                    const demo::DemoFolder& folder,
                                                    const std::vector<demo::SampledFile>& files) {
    chaos::HarnessOptions options;
    options.store = {
        .kind = StoreUrl::Kind::sqlite, .target = folder.store_path(), .automatic = false};
    options.queue = "default";
    options.workload = chaos::Workload::sha256;
    for (const demo::SampledFile& file : files)
        options.payloads.push_back(payload(options.payloads.size(), file.path));
    options.seed = arguments.seed;
    options.kill_rate = arguments.kill_rate;
    options.lease = arguments.lease;
    options.work = std::chrono::milliseconds(20);
    options.max_crashes = raised_max_crashes;
    options.folder = folder.run_path();
    DEADMAN_TRY(options.worker_program, platform::executable_path());
    return options;
}

void announce(const chaos::HarnessOptions& options, const DemoArguments& arguments) {
    std::printf("%zu files below %s, one job each: hash it, wait 20 ms, write the hash.\n"
                "%d worker processes of %d slots; %.0f %% of their runs end by kill -9 "
                "(seed %llu). About two minutes at most.\n",
                options.payloads.size(), arguments.files_below.c_str(), options.workers,
                options.slots, options.kill_rate * 100,
                static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
}

void name_files(const char* what, const std::vector<std::string>& paths) {
    for (std::size_t index = 0; index < paths.size() && index < most_named; ++index)
        std::printf("%s: %s\n", what, paths[index].c_str());
    if (paths.size() > most_named)
        std::printf("... and %zu more\n", paths.size() - most_named);
}

// How the reader came here is how to go on.
std::string command() {
    const auto path = platform::executable_path();
    return path && path->find("/build/") != std::string::npos ? "./dev run" : "deadman";
}

void print_look_around(const chaos::HarnessOptions& options) {
    const std::string run = command();
    const std::string store = options.store.text();
    std::printf("\nThe data is kept in %s. To look around:\n"
                "  %s job list --store %s\n"
                "  %s job show 1 --store %s\n"
                "  %s worker list --store %s\n"
                "  %s serve --store %s\n",
                options.store.target.c_str(), run.c_str(), store.c_str(), run.c_str(),
                store.c_str(), run.c_str(), store.c_str(), run.c_str(), store.c_str());
}

base::Result<bool> judge(const chaos::HarnessOptions& options, const chaos::Report& report,
                         const std::vector<demo::SampledFile>& files) {
    DEADMAN_TRY(const auto probe, chaos::open_probe(options.store, options.queue));
    DEADMAN_TRY(const auto check,
                demo::check_hashes(*probe, chaos::effect_table(options.workload), files));
    name_files("changed while the demo ran, not compared", check.changed);
    name_files("WRONG", check.wrong);
    std::printf("sha256sum agrees with the rows of %lld of %zu files\n",
                static_cast<long long>(check.equal), files.size());
    std::printf("%lld of %lld runs were cut short (%.1f %%)\n",
                static_cast<long long>(report.lapsed), static_cast<long long>(report.runs),
                report.share() * 100);
    std::printf("%s\n", chaos::summary_line(report).c_str());
    return report.ok() && check.wrong.empty();
}

base::Result<bool> run(const DemoArguments& arguments) {
    DEADMAN_TRY(const auto stop, StopOnSignals::watch());
    DEADMAN_TRY(const std::string path, chosen_folder(arguments));
    DEADMAN_TRY(const auto folder, demo::DemoFolder::take(path));
    DEADMAN_TRY(const auto files, demo::sample_files({.root = arguments.files_below,
                                                      .count = arguments.files,
                                                      .seed = arguments.seed}));
    DEADMAN_TRY(const auto options, harness_options(arguments, folder, files));
    announce(options, arguments);
    DEADMAN_TRY(const auto report, run_with_progress(options, stop->token()));
    DEADMAN_TRY(const bool good, judge(options, report, files));
    DEADMAN_TRY_STATUS(
        platform::write_file_atomically(folder.run_path() + "/report.json", to_json(report)));
    print_look_around(options);
    return good;
}

int run_verb(const DemoArguments& arguments) {
    const auto good = run(arguments);
    if (!good)
        return report_failure(good.error());
    return *good ? exit_ok : exit_error;
}

} // namespace

void add_demo_verb(CLI::App& app, int& exit_code) {
    CLI::App* verb =
        app.add_subcommand("demo", "Hash 2,000 real files while their workers are killed");
    const auto arguments = std::make_shared<DemoArguments>();
    verb->add_option(
            "--folder", arguments->folder,
            "Keep the data here, replacing an earlier demo's (default: demo in the data folder)")
        ->take_last();
    verb->add_option("--below", arguments->files_below, "Take the files from here")
        ->capture_default_str();
    verb->add_option("--files", arguments->files, "How many")
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    verb->add_option("--seed", arguments->seed, "Of the choice of files, and of who dies")
        ->capture_default_str();
    verb->add_option("--kill-rate", arguments->kill_rate, "Share of runs whose worker dies")
        ->check(CLI::Range(0.0, 0.9))
        ->capture_default_str();
    add_duration(*verb, "--lease", arguments->lease, "Lease of a worker session");
    verb->callback([arguments, &exit_code] { exit_code = run_verb(*arguments); });
}

} // namespace deadman
