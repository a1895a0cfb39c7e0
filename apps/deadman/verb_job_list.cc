// deadman job list: which jobs, newest first.

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>

#include "apps/deadman/connect.h"
#include "apps/deadman/job_json.h"
#include "apps/deadman/local_time.h"
#include "apps/deadman/verb_job.h"
#include "deadman/base/clock.h"
#include "deadman/domain/time_words.h"

namespace deadman {
namespace {

struct ListArguments {
    cli::Surface surface;
    std::vector<std::string> states;
    std::string kind;
    std::string queue;
    std::string finished;
    std::string created;
    std::string cursor;
    int limit = 50;
    bool all = false;
};

base::Result<std::vector<domain::JobState>> parse_states(const std::vector<std::string>& names) {
    std::vector<domain::JobState> states;
    for (const std::string& name : names) {
        const auto state = domain::parse_job_state(name);
        if (!state)
            return base::fail(base::ErrorCode::invalid_argument,
                              "--state: '" + name +
                                  "' is none of waiting, scheduled, pending, running, succeeded, "
                                  "failed, cancelled, expired");
        states.push_back(*state);
    }
    return states;
}

base::Result<domain::TimeRange> parse_range(const std::string& flag, const std::string& words,
                                            const cli::LocalTime& local, base::TimePoint now) {
    if (words.empty())
        return domain::TimeRange{};
    auto range = domain::parse_time_range(words, now, local.offset_at(now));
    if (!range)
        return base::fail(base::ErrorCode::invalid_argument, flag + ": " + range.error().message);
    return range;
}

base::Result<store::JobFilter> make_filter(const ListArguments& arguments,
                                           const cli::LocalTime& local, base::TimePoint now) {
    store::JobFilter filter;
    filter.kind = arguments.kind;
    filter.queue = arguments.queue;
    filter.limit = arguments.limit;
    DEADMAN_TRY(filter.states, parse_states(arguments.states));
    DEADMAN_TRY(const auto finished, parse_range("--finished", arguments.finished, local, now));
    DEADMAN_TRY(const auto created, parse_range("--created", arguments.created, local, now));
    filter.finished_from = finished.from;
    filter.finished_until = finished.until;
    filter.created_from = created.from;
    filter.created_until = created.until;
    return filter;
}

using Bounds = std::array<std::optional<base::TimePoint>*, 4>;

Bounds bounds_of(store::JobFilter& filter) {
    return {&filter.finished_from, &filter.finished_until, &filter.created_from,
            &filter.created_until};
}

/// "-2h" means another window each time, so a cursor carries the one that its list began with:
/// FROM,UNTIL,FROM,UNTIL~CURSOR.
std::string with_window(const std::string& cursor, store::JobFilter filter) {
    std::string window;
    for (const auto* bound : bounds_of(filter))
        window += (bound->has_value() ? std::to_string(base::to_micros(**bound)) : "-") + ",";
    window.pop_back();
    return cursor.empty() || window == "-,-,-,-" ? cursor : window + "~" + cursor;
}

/// Sets the bounds that the cursor carries; gives the rest of it.
base::Result<std::string> resume_window(const std::string& cursor, store::JobFilter& filter) {
    const std::size_t end = cursor.find('~');
    if (end == std::string::npos)
        return cursor;
    std::string_view window = std::string_view(cursor).substr(0, end);
    for (auto* bound : bounds_of(filter)) {
        const std::string_view word = window.substr(0, window.find(','));
        window.remove_prefix(std::min(window.size(), word.size() + 1));
        std::int64_t micros = 0;
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), micros);
        if (word != "-" && (error != std::errc{} || stop != word.data() + word.size()))
            return base::fail(base::ErrorCode::invalid_argument,
                              "cursor: not one that `job list` gave");
        *bound = word == "-" ? std::nullopt : std::optional(base::from_micros(micros));
    }
    return cursor.substr(end + 1);
}

/// Pages as they come in, in the chosen form.
class ListPrinter {
  public:
    ListPrinter(cli::OutputFormat format, const cli::LocalTime& local)
        : format_(format), local_(local) {}

    void add(const store::JobRecord& job) {
        ++count_;
        if (format_ == cli::OutputFormat::jsonl)
            cli::print_json_line(cli::job_json(job));
        else if (format_ == cli::OutputFormat::json)
            items_.push_back(cli::job_json(job));
        else
            table_.add(row(job));
    }

    void finish(const std::string& next_cursor) {
        if (format_ == cli::OutputFormat::json)
            cli::print_json(cli::page_json(items_, next_cursor));
        if (format_ == cli::OutputFormat::table && count_ > 0)
            cli::print(table_.text());
        if (format_ == cli::OutputFormat::table && count_ == 0)
            cli::say("no such jobs");
        if (format_ != cli::OutputFormat::json && !next_cursor.empty())
            cli::say("there may be more: --cursor " + next_cursor + ", or --all");
    }

  private:
    std::vector<std::string> row(const store::JobRecord& job) const {
        std::string why = job.reason;
        if (!job.message.empty())
            why += (why.empty() ? "" : ": ") + job.message;
        return {std::to_string(job.id.value),
                std::string(domain::job_state_name(job.state)),
                job.kind,
                job.queue,
                std::to_string(job.attempts_spent) + "/" + std::to_string(job.max_attempts),
                local_.text(job.created_at),
                local_.text(job.finished_at),
                cli::cut_to(cli::one_line(why), 60)};
    }

    cli::OutputFormat format_;
    const cli::LocalTime& local_;
    cli::Table table_{{"ID", "STATE", "KIND", "QUEUE", "ATTEMPTS", "CREATED", "FINISHED", "WHY"}};
    std::vector<std::string> items_;
    std::size_t count_ = 0;
};

/// From `cursor` on, which then says where it ended.
base::Status print_pages(cli::JobBackend& backend, const store::JobFilter& filter, bool all,
                         ListPrinter& printer, std::string& cursor) {
    do {
        DEADMAN_TRY(cli::ListedJobs page, backend.list(filter, cursor));
        for (const store::JobRecord& job : page.jobs)
            printer.add(job);
        cursor = std::move(page.next_cursor);
    } while (all && !cursor.empty());
    return {};
}

base::Result<int> run(const ListArguments& arguments) {
    base::SystemClock clock;
    const cli::LocalTime local = cli::LocalTime::here();
    DEADMAN_TRY(store::JobFilter filter, make_filter(arguments, local, clock.now()));
    if (arguments.all)
        filter.limit = 1'000;
    DEADMAN_TRY(std::string cursor, resume_window(arguments.cursor, filter));
    return cli::on_backend(
        arguments.surface, clock, [&](cli::JobBackend& backend) -> base::Result<int> {
            ListPrinter printer(arguments.surface.output, local);
            DEADMAN_TRY_STATUS(print_pages(backend, filter, arguments.all, printer, cursor));
            printer.finish(with_window(cursor, filter));
            return exit_ok;
        });
}

} // namespace

void add_job_list(CLI::App& job, int& exit_code) {
    CLI::App* verb = job.add_subcommand("list", "Which jobs there are, newest first");
    const auto arguments = std::make_shared<ListArguments>();
    verb->add_option("--state", arguments->states, "Only these, separated by commas")
        ->delimiter(',')
        ->type_name("STATE");
    verb->add_option("--kind", arguments->kind, "Only of this kind");
    verb->add_option("--queue", arguments->queue, "Only of this queue");
    verb->add_option("--finished", arguments->finished,
                     "Finished then: tuesday, yesterday, -2h, 2026-03-01, monday..wednesday")
        ->type_name("TIME");
    verb->add_option("--created", arguments->created, "Enqueued then")->type_name("TIME");
    verb->add_option("--limit", arguments->limit, "How many at most")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    verb->add_option("--cursor", arguments->cursor, "Go on where a page ended");
    verb->add_flag("--all", arguments->all, "All pages");
    cli::add_surface(*verb, arguments->surface);
    verb->callback([arguments, &exit_code] { exit_code = cli::exit_code_after(run(*arguments)); });
}

} // namespace deadman
