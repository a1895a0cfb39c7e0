#include "apps/deadman/chaos/chaos_worker.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stop_token>
#include <thread>
#include <utility>

#include "apps/deadman/exit_codes.h"
#include "deadman/platform/process.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/telemetry/sinks.h"
#include "deadman/worker/leaving.h"
#include "deadman/worker/worker.h"

namespace deadman::chaos {
namespace {

std::string micros(base::Duration duration) {
    return std::to_string(duration.count());
}

// Exact, unlike a decimal that was rounded: both sides must draw the same fates.
std::string exact(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%a", value);
    return text;
}

class Arguments {
  public:
    explicit Arguments(const std::vector<std::string>& arguments) {
        for (const std::string& argument : arguments)
            if (const std::size_t equals = argument.find('=');
                argument.starts_with("--") && equals != std::string::npos)
                values_[argument.substr(2, equals - 2)] = argument.substr(equals + 1);
    }

    const std::string& text(const std::string& name) {
        const auto found = values_.find(name);
        if (found == values_.end()) {
            missing_ += ' ' + name;
            return empty_;
        }
        return found->second;
    }

    template <typename Number> Number number(const std::string& name) {
        const std::string& value = text(name);
        Number number{};
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        if (error != std::errc{} || end != value.data() + value.size())
            missing_ += ' ' + name;
        return number;
    }

    base::Duration duration(const std::string& name) {
        return base::Duration(number<std::int64_t>(name));
    }

    const std::string& missing() const {
        return missing_;
    }

  private:
    std::map<std::string, std::string> values_;
    std::string missing_;
    std::string empty_;
};

// Ends that the store refused go into the journal, whoever was refused: handler or worker.
class RefusalNotes final : public worker::WorkerObserver {
  public:
    explicit RefusalNotes(const Journal& journal) : journal_(journal) {}

    void on_lease_lost(const worker::Report& report) override {
        journal_.write(Note::refused, report.run, "end: " + report.detail);
    }

  private:
    const Journal& journal_;
};

worker::WorkerOptions worker_options(const WorkerBrief& brief) {
    worker::WorkerOptions options;
    options.name = "chaos-" + std::to_string(platform::current_pid());
    options.host = platform::host_name();
    options.pid = platform::current_pid();
    options.version = DEADMAN_VERSION;
    options.queues = {brief.queue};
    options.slots = brief.slots;
    options.terms = lease_terms(brief.lease);
    return options;
}

base::Status work(const WorkerBrief& brief) {
    base::SystemClock clock;
    DEADMAN_TRY(const auto leaving,
                worker::Leaving::watch(clock, [] { std::_Exit(exit_software); }));
    DEADMAN_TRY(const auto sink,
                telemetry::make_file_sink(log_path(brief.folder), telemetry::LogFormat::json));
    telemetry::Log log(clock, *sink, {.level = telemetry::Level::info, .burst = 0, .window = {}});
    DEADMAN_TRY(const Journal journal, Journal::open(journal_path(brief.folder), clock));
    DEADMAN_TRY(const auto store, open_store(brief.store, clock));
    DEADMAN_TRY(auto handler, make_handler(brief, *store, journal, clock));
    worker::HandlerRegistry handlers;
    handlers.add(workload_kind(brief.workload), std::move(handler));
    RefusalNotes observer(journal);
    worker::Worker worker(worker_options(brief), std::move(handlers),
                          {.store = *store,
                           .clock = clock,
                           .log = &log,
                           .observer = &observer,
                           .leave_process = nullptr});

    scheduler::Upkeep upkeep(upkeep_request(brief.lease, brief.max_crashes),
                             {.store = *store, .clock = clock, .log = &log, .on_sweep = nullptr});
    const std::jthread sweeping([&upkeep](std::stop_token stop) { upkeep.run(std::move(stop)); });
    leaving->expect_drain(worker::WorkerOptions{}.drain_grace);
    leaving->attach(&worker);
    worker.run();
    leaving->attach(nullptr);
    return {};
}

} // namespace

domain::LeaseTerms lease_terms(base::Duration lease) {
    const domain::LeaseTerms defaults;
    return lease == defaults.lease ? defaults : domain::LeaseTerms::scaled_to(lease);
}

store::UpkeepRequest upkeep_request(base::Duration lease, int max_crashes) {
    store::UpkeepRequest request;
    request.terms = lease_terms(lease);
    request.crash.max_crashes = max_crashes;
    if (max_crashes > domain::default_max_crashes)
        request.crash.first_delay = {};
    return request;
}

std::vector<std::string> format_brief(const WorkerBrief& brief) {
    return {
        "--store=" + brief.store.text(),
        "--queue=" + brief.queue,
        "--workload=" + std::string(workload_name(brief.workload)),
        "--guard=" + std::string(guard_name(brief.guard)),
        "--folder=" + brief.folder,
        "--seed=" + std::to_string(brief.fates.seed),
        "--death=" + exact(brief.fates.death),
        "--pauses=" + std::to_string(brief.fates.pauses),
        "--jobs=" + std::to_string(brief.fates.jobs),
        "--lease-us=" + micros(brief.lease),
        "--slots=" + std::to_string(brief.slots),
        "--work-us=" + micros(brief.work),
        "--max-crashes=" + std::to_string(brief.max_crashes),
    };
}

base::Result<WorkerBrief> parse_brief(const std::vector<std::string>& arguments) {
    Arguments given(arguments);
    WorkerBrief brief;
    DEADMAN_TRY(brief.store, parse_store_url(given.text("store")));
    const auto workload = parse_workload(given.text("workload"));
    const auto guard = parse_guard(given.text("guard"));
    brief.queue = given.text("queue");
    brief.folder = given.text("folder");
    brief.fates.seed = given.number<std::uint64_t>("seed");
    brief.fates.death = std::strtod(given.text("death").c_str(), nullptr);
    brief.fates.pauses = given.number<int>("pauses");
    brief.fates.jobs = given.number<int>("jobs");
    brief.lease = given.duration("lease-us");
    brief.slots = given.number<int>("slots");
    brief.work = given.duration("work-us");
    brief.max_crashes = given.number<int>("max-crashes");
    if (!workload || !guard || !given.missing().empty() || brief.fates.jobs < 1)
        return base::fail(base::ErrorCode::invalid_argument,
                          "chaos-worker is started by chaos run and demo; missing or bad:" +
                              given.missing());
    brief.workload = *workload;
    brief.guard = *guard;
    return brief;
}

int run_chaos_worker(const WorkerBrief& brief) {
    if (const base::Status worked = work(brief); !worked) {
        std::fprintf(stderr, "chaos-worker: %s\n", worked.error().message.c_str());
        return 1;
    }
    return 0;
}

} // namespace deadman::chaos
