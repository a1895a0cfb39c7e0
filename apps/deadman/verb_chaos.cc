// deadman chaos run: jobs under kill -9 and SIGSTOP, and a count of their effects.

#include <cstdio>
#include <memory>
#include <string>

#include "apps/deadman/chaos/chaos_worker.h"
#include "apps/deadman/chaos_run.h"
#include "apps/deadman/option_values.h"
#include "apps/deadman/verb.h"
#include "deadman/base/random.h"
#include "deadman/domain/blame.h"
#include "deadman/platform/process.h"

namespace deadman {
namespace {

// With so many lapses a job that merely had bad luck would be taken for a killer.
constexpr int raised_max_crashes = 1'000'000;

struct ChaosArguments {
    std::string store = "sqlite:auto";
    int jobs = 2'000;
    double kill_rate = 0.4;
    int workers = 3;
    int slots = 4;
    std::uint64_t seed = 0;
    int pauses = -1;
    std::string report;
    std::string guard = "transaction";
    std::string max_crashes = "raised";
    std::string keep;
    base::Duration lease = std::chrono::seconds(8);
    base::Duration work = std::chrono::milliseconds(10);
    base::Duration time_limit = std::chrono::minutes(10);
};

// Six at least, two of each kind, when anybody is to be hurt at all.
int default_pauses(const ChaosArguments& arguments) {
    if (arguments.kill_rate <= 0)
        return 0;
    return std::min(std::max(arguments.jobs / 150, 6), arguments.jobs);
}

std::vector<std::string> numbered_payloads(int jobs) {
    std::vector<std::string> payloads;
    for (int number = 0; number < jobs; ++number)
        payloads.push_back("{\"n\":" + std::to_string(number) + "}");
    return payloads;
}

base::Result<int> max_crashes(const std::string& text) {
    if (text == "raised")
        return raised_max_crashes;
    if (text == "default")
        return domain::default_max_crashes;
    int value = 0;
    if (std::sscanf(text.c_str(), "%d", &value) == 1 && value >= 1)
        return value;
    return base::fail(base::ErrorCode::invalid_argument,
                      "--max-crashes takes 'raised', 'default' or a number from 1");
}

base::Result<chaos::HarnessOptions> harness_options(const ChaosArguments& arguments) {
    chaos::HarnessOptions options;
    options.queue = fresh_queue("chaos");
    options.guard = *chaos::parse_guard(arguments.guard);
    options.payloads = numbered_payloads(arguments.jobs);
    options.seed = arguments.seed != 0 ? arguments.seed : base::random_seed() >> 1;
    options.kill_rate = arguments.kill_rate;
    options.pauses = arguments.pauses >= 0 ? arguments.pauses : default_pauses(arguments);
    options.workers = arguments.workers;
    options.slots = arguments.slots;
    DEADMAN_TRY_STATUS(domain::validate_terms(chaos::lease_terms(arguments.lease)));
    options.lease = arguments.lease;
    options.work = arguments.work;
    options.time_limit = arguments.time_limit;
    DEADMAN_TRY(options.max_crashes, max_crashes(arguments.max_crashes));
    DEADMAN_TRY(options.worker_program, platform::executable_path());
    return options;
}

void announce(const chaos::HarnessOptions& options) {
    std::printf("%zu jobs on %s, %d workers of %d slots, %.0f %% of runs to lapse, lease %s, "
                "seed %llu\n",
                options.payloads.size(), options.store.redacted().c_str(), options.workers,
                options.slots, options.kill_rate * 100,
                base::format_duration(options.lease).c_str(),
                static_cast<unsigned long long>(options.seed));
    if (options.max_crashes > domain::default_max_crashes)
        std::printf("max_crashes is raised from %d to %d for this run, and suspects do not wait: "
                    "lapses are what it is about\n",
                    domain::default_max_crashes, options.max_crashes);
    std::fflush(stdout);
}

void print_ids(const char* what, const std::vector<std::int64_t>& ids) {
    if (ids.empty())
        return;
    std::printf("%s:", what);
    for (std::size_t index = 0; index < ids.size() && index < 20; ++index)
        std::printf(" %lld", static_cast<long long>(ids[index]));
    std::printf("%s\n", ids.size() > 20 ? " ..." : "");
}

void print_report(const chaos::Report& report) {
    const auto rescue = chaos::percentiles(report.timings.rescue_times());
    std::printf("%lld of %lld runs lapsed (%.1f %%), %lld released; %lld pauses, %lld refusals; "
                "rescued in p50 %.0f ms, p99 %.0f ms, max %.0f ms\n",
                static_cast<long long>(report.lapsed), static_cast<long long>(report.runs),
                report.share() * 100, static_cast<long long>(report.released),
                static_cast<long long>(report.pauses), static_cast<long long>(report.fenced),
                std::chrono::duration<double, std::milli>(rescue.p50).count(),
                std::chrono::duration<double, std::milli>(rescue.p99).count(),
                std::chrono::duration<double, std::milli>(rescue.max).count());
    print_ids("lost jobs", report.verdict.lost);
    print_ids("duplicated jobs", report.verdict.duplicated);
    print_ids("effects of jobs that did not succeed", report.verdict.unearned);
    if (report.timed_out)
        std::printf("not finished within the time limit\n");
    if (!report.share_is_right())
        std::printf("the share of lapsed runs is not within %.2f of %.2f\n",
                    chaos::share_tolerance(report.runs), report.kill_rate);
    std::printf("%s\n", chaos::summary_line(report).c_str());
}

base::Result<chaos::Report> run(const ChaosArguments& arguments) {
    DEADMAN_TRY(const auto stop, StopOnSignals::watch());
    // To be told now, not after minutes.
    if (!arguments.report.empty())
        DEADMAN_TRY_STATUS(platform::AppendFile::open(arguments.report));
    DEADMAN_TRY(auto options, harness_options(arguments));
    DEADMAN_TRY(const StoreUrl asked, parse_store_url(arguments.store));
    DEADMAN_TRY(auto store, ThrowawayStore::resolve(asked));
    options.store = store.url();
    DEADMAN_TRY(auto folder, platform::TemporaryDirectory::create("deadman-chaos"));
    options.folder = folder.path();
    if (!arguments.keep.empty()) {
        DEADMAN_TRY_STATUS(platform::create_directories(arguments.keep));
        options.folder = arguments.keep;
    }
    announce(options);
    DEADMAN_TRY(auto report, run_with_progress(options, stop->token()));
    if (asked.automatic)
        report.store = asked.text();
    if (!report.ok() && arguments.keep.empty()) {
        std::printf("journal and logs are kept in %s%s\n", folder.path().c_str(),
                    asked.kind == StoreUrl::Kind::sqlite
                        ? (", the store in " + options.store.target).c_str()
                        : "");
        folder.keep();
        store.keep();
    }
    if (!arguments.report.empty())
        DEADMAN_TRY_STATUS(platform::write_file_atomically(arguments.report, to_json(report)));
    return report;
}

int run_verb(const ChaosArguments& arguments) {
    const auto report = run(arguments);
    if (!report)
        return report_failure(report.error());
    print_report(*report);
    return report->ok() ? exit_ok : exit_error;
}

} // namespace

void add_chaos_verb(CLI::App& app, int& exit_code) {
    CLI::App* chaos =
        app.add_subcommand("chaos", "Prove that killed workers lose and double nothing");
    chaos->require_subcommand(1);
    CLI::App* run = chaos->add_subcommand(
        "run", "Run jobs while killing and stopping their workers, then count the effects");
    const auto arguments = std::make_shared<ChaosArguments>();
    run->add_option("--store", arguments->store,
                    "sqlite:PATH, postgresql://..., or a throwaway one: sqlite:auto, postgres:auto")
        ->capture_default_str();
    run->add_option("--jobs", arguments->jobs, "Jobs to enqueue")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    run->add_option("--kill-rate", arguments->kill_rate,
                    "Share of runs that are to lapse because their worker died")
        ->check(CLI::Range(0.0, 0.9))
        ->capture_default_str();
    run->add_option("--workers", arguments->workers, "Worker processes")
        ->check(CLI::Range(1, 64))
        ->capture_default_str();
    run->add_option("--slots", arguments->slots, "Handlers at a time in each")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    run->add_option("--seed", arguments->seed, "Of the fates; 0: a new one")->capture_default_str();
    run->add_option("--pauses", arguments->pauses,
                    "Jobs that stop their worker past its lease; -1: some")
        ->check(CLI::Range(-1, 1'000'000));
    run->add_option("--report", arguments->report, "Write the report to this file, as JSON");
    run->add_option("--logs", arguments->keep,
                    "Keep the journal and the workers' log in this folder, which should be new");
    run->add_option(
           "--guard", arguments->guard,
           "transaction: effect and completion commit together; two-stores: a guard that is "
           "known to lose effects, to see that the proof can fail")
        ->check(CLI::IsMember({"transaction", "two-stores"}))
        ->capture_default_str();
    run->add_option("--max-crashes", arguments->max_crashes,
                    "After how many crashes a job is quarantined: raised, default or a number")
        ->capture_default_str();
    add_duration(*run, "--lease", arguments->lease, "Lease of a worker session");
    add_duration(*run, "--work", arguments->work, "What a handler waits before its effect");
    add_duration(*run, "--time-limit", arguments->time_limit, "Give up after this");
    run->callback([arguments, &exit_code] { exit_code = run_verb(*arguments); });
}

} // namespace deadman
