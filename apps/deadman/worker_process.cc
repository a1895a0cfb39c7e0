#include "apps/deadman/worker_process.h"

#include <cstdlib>
#include <format>
#include <memory>
#include <thread>

#include "apps/deadman/output.h"
#include "apps/deadman/store_url.h"
#include "deadman/platform/adopted_children.h"
#include "deadman/platform/paths.h"
#include "deadman/platform/process.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/telemetry/sinks.h"
#include "deadman/worker/handlers/handler_factory.h"
#include "deadman/worker/leaving.h"
#include "deadman/worker/worker.h"

namespace deadman::cli {
namespace {

domain::LeaseTerms lease_terms(const config::LeaseConfig& lease) {
    return {.lease = lease.lease,
            .heartbeat = lease.heartbeat,
            .sweep = lease.sweep,
            .hint_heartbeat = lease.hint_heartbeat,
            .hint_grace = lease.hint_grace};
}

/// Says once that work is taken.
class ReadyLine final : public worker::WorkerObserver {
  public:
    explicit ReadyLine(std::string line) : line_(std::move(line)) {}

    void on_report(const worker::Report& report) override {
        if (report.kind != worker::ReportKind::session_started || said_)
            return;
        said_ = true;
        print(line_ + "\n");
    }

  private:
    std::string line_;
    bool said_ = false;
};

std::string ready_text(const worker::WorkerOptions& options,
                       const worker::HandlerRegistry& handlers, const std::string& store) {
    std::string queues;
    for (const std::string& queue : options.queues)
        queues += (queues.empty() ? "" : ",") + queue;
    return std::format("worker {} is ready: {} slots, queues {}, {} kinds, store {}", options.name,
                       options.slots, queues, handlers.kinds().size(), store);
}

std::unique_ptr<telemetry::Sink> make_sink(const config::Config& config) {
    return telemetry::make_stderr_sink(
        telemetry::parse_log_format(config.log_format).value_or(telemetry::LogFormat::console));
}

telemetry::LogOptions log_options(const config::Config& config) {
    telemetry::LogOptions options;
    options.level = telemetry::parse_level(config.log_level).value_or(telemetry::Level::info);
    return options;
}

} // namespace

base::Result<worker::WorkerOptions> worker_options(const config::Config& config) {
    worker::WorkerOptions options;
    options.host = platform::host_name();
    options.name = config.worker.name.empty() ? options.host : config.worker.name;
    options.pid = platform::current_pid();
    options.version = DEADMAN_VERSION;
    options.queues = config.worker.queues;
    options.slots = config.worker.slots;
    if (config.origin_of("worker.prefetch") != config::Origin::fallback)
        options.prefetch = config.worker.prefetch; // else it tunes itself
    options.terms = lease_terms(config.lease);
    options.drain_grace = config.worker.drain_grace;
    DEADMAN_TRY_STATUS(domain::validate_terms(options.terms));
    return worker::resolved(options);
}

store::UpkeepRequest upkeep_request(const config::Config& config) {
    store::UpkeepRequest request;
    request.terms = lease_terms(config.lease);
    request.crash.max_crashes = config.limits.max_crashes;
    request.retention = config.limits.retention;
    return request;
}

base::Result<std::unique_ptr<store::JobStore>> open_configured_store(const config::Config& config,
                                                                     base::Clock& clock) {
    DEADMAN_TRY(const StoreUrl url, parse_store_url(config.store));
    if (url.automatic)
        return base::fail(base::ErrorCode::invalid_argument,
                          "store: " + url.text() + " is for bench and chaos only");
    if (config.origin_of("store") == config::Origin::fallback)
        DEADMAN_TRY_STATUS(platform::create_directories(config.data_dir));
    DEADMAN_TRY(auto store, open_store(url, clock, {.max_bytes = config.limits.max_payload_bytes}));
    DEADMAN_TRY_STATUS(store->migrate());
    return store;
}

void leave_at_once() {
    say("told to leave, and something still waits for the store: ending at once; what was held "
        "comes back by its lease");
    std::_Exit(exit_software);
}

base::Status run_worker_process(const config::Config& config, base::Clock& clock) {
    DEADMAN_TRY(const auto leaving, worker::Leaving::watch(clock, leave_at_once));
    const platform::AdoptedChildren adopted(clock);
    const auto sink = make_sink(config);
    telemetry::Log log(clock, *sink, log_options(config));
    DEADMAN_TRY(const worker::WorkerOptions options, worker_options(config));
    DEADMAN_TRY(const auto store, open_configured_store(config, clock));
    DEADMAN_TRY(auto handlers, worker::make_handlers(config, store->name(), clock));
    DEADMAN_TRY(const StoreUrl url, parse_store_url(config.store));
    ReadyLine ready(ready_text(options, handlers, url.redacted()));
    scheduler::Upkeep upkeep(upkeep_request(config),
                             {.store = *store, .clock = clock, .log = &log});
    worker::Worker worker(options, std::move(handlers),
                          {.store = *store, .clock = clock, .log = &log, .observer = &ready});
    std::thread upkeep_thread([&] { upkeep.run(); });
    leaving->expect_drain(options.drain_grace);
    leaving->attach(&worker);
    worker.run();
    leaving->attach(nullptr);
    upkeep.stop();
    upkeep_thread.join();
    return {};
}

} // namespace deadman::cli
