// deadman job enqueue: one job from the command line, or many from lines of JSON.

#include <cmath>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "apps/deadman/bulk_enqueue.h"
#include "apps/deadman/connect.h"
#include "apps/deadman/job_explain.h"
#include "apps/deadman/job_json.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/local_time.h"
#include "apps/deadman/progress_line.h"
#include "apps/deadman/verb_job.h"
#include "deadman/base/duration_text.h"
#include "deadman/domain/payload.h"
#include "deadman/domain/time_words.h"
#include "deadman/platform/terminal.h"

namespace deadman {
namespace {

using base::ErrorCode;

// Above any payload that a store takes: the store says what its bound is.
constexpr std::size_t most_standard_input = 256 << 20;

struct EnqueueArguments {
    cli::Surface surface;
    std::string kind;
    std::string payload = "{}";
    std::string bulk;
    std::string idempotency_prefix;
    domain::JobSpec spec;
    std::optional<std::string> delay;
    std::optional<std::string> at;
    std::optional<std::string> retry;
    std::optional<std::string> timeout;
};

base::Result<std::string> read_standard_input() {
    std::string text;
    std::streambuf& buffer = *std::cin.rdbuf();
    char block[1 << 16];
    for (std::streamsize got = buffer.sgetn(block, sizeof block); got > 0;
         got = buffer.sgetn(block, sizeof block)) {
        text.append(block, static_cast<std::size_t>(got));
        if (text.size() > most_standard_input)
            return base::fail(ErrorCode::invalid_argument,
                              "payload: standard input does not end within 256 MiB");
    }
    return text;
}

/// Errors of values name their flag.
template <typename Value>
base::Result<Value> named(std::string_view flag, base::Result<Value> value) {
    if (value)
        return value;
    return base::fail(value.error().code, std::string(flag) + ": " + value.error().message);
}

base::Result<domain::JobSpec> make_spec(const EnqueueArguments& arguments, base::Clock& clock) {
    domain::JobSpec spec = arguments.spec;
    spec.kind = arguments.kind;
    spec.payload = arguments.payload;
    if (arguments.payload == "-") {
        DEADMAN_TRY(spec.payload, read_standard_input());
    }
    if (arguments.delay) {
        DEADMAN_TRY(spec.delay, named("--delay", base::parse_duration(*arguments.delay)));
    }
    if (arguments.at) {
        const base::TimePoint now = clock.now();
        const base::Duration offset = cli::LocalTime::here().offset_at(now);
        DEADMAN_TRY(spec.due, named("--at", domain::parse_due_time(*arguments.at, now, offset)));
    }
    if (arguments.retry) {
        DEADMAN_TRY(spec.retry, named("--retry", domain::parse_retry_policy(*arguments.retry)));
    }
    if (arguments.timeout) {
        DEADMAN_TRY(spec.timeout, named("--timeout", base::parse_duration(*arguments.timeout)));
    }
    DEADMAN_TRY_STATUS(domain::validate_spec(spec));
    domain::PayloadLimits limits;
    limits.max_bytes = most_standard_input;
    DEADMAN_TRY_STATUS(domain::validate_payload(spec.payload, limits));
    return spec;
}

/// What it takes for a job to run is a worker that knows its kind; one may still come.
std::vector<std::string> unannounced(cli::JobBackend& backend, const std::set<std::string>& kinds) {
    std::vector<std::string> unknown;
    const auto sessions = backend.sessions();
    const auto now = backend.now();
    if (!sessions || !now)
        return unknown; // the jobs are in; a warning is not worth an error
    for (const std::string& kind : kinds)
        if (!cli::is_announced(*sessions, kind, *now))
            unknown.push_back(kind);
    return unknown;
}

void warn_of(const std::vector<std::string>& unannounced) {
    for (const std::string& kind : unannounced)
        cli::say("warning: no live worker has a handler for '" + kind + "'");
}

void print_enqueued(const store::Enqueued& job, const std::vector<std::string>& unannounced,
                    cli::OutputFormat output) {
    if (output == cli::OutputFormat::json)
        cli::print_json(cli::enqueued_json(job, unannounced));
    else if (output == cli::OutputFormat::jsonl)
        cli::print_json_line(cli::enqueued_json(job, unannounced));
    else if (job.is_new)
        cli::print(std::format("job {} enqueued\n", job.id.value));
    else
        cli::print(std::format("job {} is there already: {}; nothing was enqueued\n", job.id.value,
                               job.replayed ? "the same request had this idempotency key"
                                            : "it holds this unique key"));
}

base::Result<int> enqueue_one(const EnqueueArguments& arguments) {
    base::SystemClock clock;
    DEADMAN_TRY(const domain::JobSpec spec, make_spec(arguments, clock));
    return cli::on_backend(arguments.surface, clock,
                           [&](cli::JobBackend& backend) -> base::Result<int> {
                               DEADMAN_TRY(const auto jobs, backend.enqueue(std::span(&spec, 1)));
                               const auto unknown = unannounced(backend, {spec.kind});
                               print_enqueued(jobs.front(), unknown, arguments.surface.output);
                               warn_of(unknown);
                               return exit_ok;
                           });
}

/// [#######-------------] 34 %, 340000 lines, 52311 a second
class BulkProgress {
  public:
    BulkProgress(base::Clock& clock, std::uintmax_t total_bytes)
        : clock_(clock), line_(clock), total_bytes_(total_bytes), began_(clock.steady_now()) {}

    void show(std::int64_t lines, std::uint64_t bytes) {
        const double seconds = std::chrono::duration<double>(clock_.steady_now() - began_).count();
        std::string text;
        if (total_bytes_ > 0) {
            const double share =
                std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total_bytes_));
            const auto full = static_cast<std::size_t>(std::lround(share * width));
            text = std::format("[{}{}] {:.0f} %, ", std::string(full, '#'),
                               std::string(width - full, '-'), share * 100);
        }
        text += std::format("{} lines", lines);
        if (seconds > 0)
            text += std::format(", {:.0f} a second", static_cast<double>(lines) / seconds);
        line_.show(text);
    }

  private:
    static constexpr std::size_t width = 20;

    base::Clock& clock_;
    ProgressLine line_;
    std::uintmax_t total_bytes_;
    base::SteadyTime began_;
};

std::string bulk_json(const cli::BulkReport& report) {
    return cli::JsonObject()
        .number("enqueued", report.enqueued)
        .number("existing", report.existing)
        .number("lines", report.lines)
        .str();
}

void print_bulk(const cli::BulkReport& report, cli::OutputFormat output) {
    if (output == cli::OutputFormat::json)
        cli::print_json(bulk_json(report));
    else if (output == cli::OutputFormat::table)
        cli::print(std::format("{} jobs enqueued, {} were there already\n", report.enqueued,
                               report.existing));
}

cli::BulkOptions bulk_options(const EnqueueArguments& arguments, BulkProgress* progress) {
    cli::BulkOptions options;
    options.idempotency_prefix = arguments.idempotency_prefix;
    if (arguments.surface.output == cli::OutputFormat::jsonl)
        options.on_job = [](std::int64_t line, const store::Enqueued& job) {
            cli::print_json_line(cli::JsonObject()
                                     .number("line", line)
                                     .text("id", std::to_string(job.id.value))
                                     .boolean("is_new", job.is_new)
                                     .str());
        };
    if (progress != nullptr)
        options.on_progress = [progress](std::int64_t lines, std::uint64_t bytes) {
            progress->show(lines, bytes);
        };
    return options;
}

base::Result<int> enqueue_lines(const EnqueueArguments& arguments, std::istream& input,
                                std::uintmax_t total_bytes, cli::Interruption& interruption,
                                cli::JobBackend& backend) {
    base::SystemClock clock;
    std::optional<BulkProgress> progress;
    if (platform::stderr_is_terminal())
        progress.emplace(clock, total_bytes);
    cli::BulkEnqueue bulk(backend, interruption,
                          bulk_options(arguments, progress ? &*progress : nullptr));
    const base::Status done = bulk.run(input);
    progress.reset();
    print_bulk(bulk.report(), arguments.surface.output);
    if (!done)
        return base::fail(done.error().code,
                          std::format("{}; the first {} lines are done with", done.error().message,
                                      bulk.report().lines));
    warn_of(unannounced(backend, bulk.report().kinds));
    return exit_ok;
}

base::Result<int> enqueue_bulk(const EnqueueArguments& arguments) {
    base::SystemClock clock;
    DEADMAN_TRY(const auto interruption, cli::Interruption::watch(clock));
    const bool from_file = arguments.bulk != "-";
    std::ifstream file;
    std::error_code ignored; // a pipe has no size
    std::uintmax_t total_bytes =
        from_file ? std::filesystem::file_size(arguments.bulk, ignored) : 0;
    if (ignored)
        total_bytes = 0;
    if (from_file)
        file.open(arguments.bulk, std::ios::binary);
    if (from_file && (!file || std::filesystem::is_directory(arguments.bulk, ignored)))
        return base::fail(ErrorCode::not_found, "cannot read the file '" + arguments.bulk + "'");
    return cli::on_backend(arguments.surface, clock, [&](cli::JobBackend& backend) {
        std::istream& input = from_file ? static_cast<std::istream&>(file) : std::cin;
        return enqueue_lines(arguments, input, total_bytes, *interruption, backend);
    });
}

base::Result<int> run(const EnqueueArguments& arguments) {
    if (arguments.bulk.empty() && arguments.kind.empty())
        return base::fail(
            ErrorCode::invalid_argument,
            "give the kind of the job, or --bulk FILE; see `deadman job enqueue --help`");
    return arguments.bulk.empty() ? enqueue_one(arguments) : enqueue_bulk(arguments);
}

void add_spec_flags(CLI::App& verb, EnqueueArguments& arguments) {
    domain::JobSpec& spec = arguments.spec;
    verb.add_option("--queue", spec.queue, "Queue to put it in")->capture_default_str();
    verb.add_option("--priority", spec.priority, "0 to 9, lower first")->capture_default_str();
    verb.add_option("--delay", arguments.delay, "Not before this has passed")
        ->type_name("DURATION");
    verb.add_option("--at", arguments.at, "Not before then: tomorrow, +2h, 2026-03-01T09:30")
        ->type_name("TIME");
    verb.add_option("--max-attempts", spec.max_attempts, "Attempts before it fails")
        ->capture_default_str();
    verb.add_option(
            "--retry", arguments.retry,
            "exponential, linear or fixed, with base, cap and jitter: exponential:1s:1h:0.25")
        ->type_name("POLICY");
    verb.add_option("--timeout", arguments.timeout, "Of one run; 0: none (default: 5m)")
        ->type_name("DURATION");
    // An empty key would mean none: a variable of a script that is not set.
    const CLI::Validator given(
        [](const std::string& text) { return text.empty() ? "must not be empty" : ""; }, "",
        "given");
    verb.add_option("--unique-key", spec.unique_key, "At most one unfinished job has it")
        ->type_name("KEY")
        ->check(given);
    verb.add_option("--idempotency-key", spec.idempotency_key,
                    "Enqueuing again with it gives the first one's job")
        ->type_name("KEY")
        ->check(given);
    verb.add_flag("--transactional", spec.transactional,
                  "It may end inside a transaction of the application");
}

} // namespace

void add_job_enqueue(CLI::App& job, int& exit_code) {
    CLI::App* verb = job.add_subcommand("enqueue", "Put a job, or many, into a queue");
    const auto arguments = std::make_shared<EnqueueArguments>();
    CLI::Option* kind = verb->add_option("KIND", arguments->kind, "Which handler is to run it");
    verb->add_option("PAYLOAD", arguments->payload, "JSON, or - to read it from standard input")
        ->capture_default_str();
    add_spec_flags(*verb, *arguments);
    CLI::Option* bulk =
        verb->add_option("--bulk", arguments->bulk,
                         "Jobs from this file (-: standard input), a JSON object a line: kind, "
                         "payload, and the other fields")
            ->type_name("FILE")
            ->excludes(kind);
    verb->add_option("--idempotency-prefix", arguments->idempotency_prefix,
                     "With --bulk: makes giving the same lines again safe")
        ->type_name("TEXT")
        ->needs(bulk);
    cli::add_surface(*verb, arguments->surface);
    arguments->surface.enqueues = true;
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(run(*arguments)); });
}

} // namespace deadman
