#include "apps/deadman/serve_process.h"

#include <charconv>
#include <format>
#include <memory>
#include <thread>

#include "apps/deadman/output.h"
#include "apps/deadman/process_metrics.h"
#include "apps/deadman/store_url.h"
#include "apps/deadman/worker_process.h"
#include "deadman/http/server.h"
#include "deadman/platform/adopted_children.h"
#include "deadman/platform/listening.h"
#include "deadman/platform/paths.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/telemetry/sinks.h"
#include "deadman/worker/handlers/handler_factory.h"
#include "deadman/worker/leaving.h"
#include "deadman/worker/worker.h"

namespace deadman::cli {
namespace {

using base::ErrorCode;

constexpr base::Duration start_patience = std::chrono::seconds(30);
constexpr base::Duration start_pause = std::chrono::milliseconds(500);
constexpr std::size_t least_token_bytes = 16;

// How long /readyz says no before the port closes, so that a load balancer sees it.
constexpr base::Duration drain_notice = std::chrono::milliseconds(500);

struct Listen {
    std::string host;
    std::uint16_t port = 0;
};

base::Result<Listen> parse_listen(const std::string& text) {
    if (text.starts_with("https://") || text.starts_with("tls://"))
        return base::fail(ErrorCode::invalid_argument,
                          "listen: this build has no TLS; put a proxy with TLS before it");
    const std::size_t colon = text.rfind(':');
    Listen listen;
    if (colon != std::string::npos) {
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data() + colon + 1, end, listen.port);
        listen.host = text.substr(0, colon);
        if (listen.host.starts_with('[') && listen.host.ends_with(']'))
            listen.host = listen.host.substr(1, listen.host.size() - 2);
        if (parsed.ec == std::errc() && parsed.ptr == end && !listen.host.empty())
            return listen;
    }
    return base::fail(ErrorCode::invalid_argument,
                      "listen: '" + text + "' is not HOST:PORT such as 127.0.0.1:7350");
}

/// Empty where none is asked for.
base::Result<std::string> read_token(const std::string& path) {
    if (path.empty())
        return std::string();
    auto text = platform::read_file(path, 64 << 10);
    if (!text)
        return base::fail(ErrorCode::invalid_argument, "token_file: " + text.error().message);
    while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' '))
        text->pop_back();
    if (text->size() < least_token_bytes || text->find_first_of("\r\n\t ") != std::string::npos)
        return base::fail(ErrorCode::invalid_argument,
                          "token_file: " + path + " must hold one token of at least " +
                              std::to_string(least_token_bytes) + " characters");
    return *text;
}

/// A server that is away may be on its way back; one that refuses is not, nor is a file.
base::Result<std::unique_ptr<store::JobStore>> open_patiently(const config::Config& config,
                                                              base::Clock& clock,
                                                              worker::Leaving& leaving,
                                                              telemetry::Log& log) {
    DEADMAN_TRY(const StoreUrl url, parse_store_url(config.store));
    const base::SteadyTime began = clock.steady_now();
    for (bool told = false;; told = true) {
        auto store = open_configured_store(config, clock);
        if (store || store.error().code != ErrorCode::unavailable ||
            url.kind != StoreUrl::Kind::postgres || clock.steady_now() - began >= start_patience)
            return store;
        if (!told)
            log.warn("store_not_reachable_yet",
                     {{"error", store.error()}, {"patience_us", start_patience}});
        if (leaving.wait(start_pause))
            return base::fail(ErrorCode::cancelled, "told to leave while waiting for the store");
    }
}

/// The worker and the upkeep of this process, each on a thread of its own.
class Inside {
  public:
    Inside(const config::Config& config, store::JobStore& store, base::Clock& clock,
           telemetry::Log& log, telemetry::Metrics& metrics)
        : counts_(metrics, clock),
          upkeep_(upkeep_request(config),
                  {.store = store,
                   .clock = clock,
                   .log = &log,
                   .on_sweep = [this](const auto& report) { counts_.on_sweep(report); }}),
          store_(store), clock_(clock), log_(log), upkeep_thread_([this] { upkeep_.run(); }) {}

    ~Inside() {
        upkeep_.stop();
        upkeep_thread_.join();
    }

    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

    /// Until it has drained.
    void work(worker::WorkerOptions options, worker::HandlerRegistry handlers,
              worker::Leaving& leaving) {
        worker::Worker worker(std::move(options), std::move(handlers),
                              {.store = store_,
                               .clock = clock_,
                               .log = &log_,
                               .observer = &counts_,
                               .leave_process = nullptr});
        leaving.attach(&worker);
        worker.run();
        leaving.attach(nullptr);
    }

  private:
    ProcessMetrics counts_;
    scheduler::Upkeep upkeep_;
    store::JobStore& store_;
    base::Clock& clock_;
    telemetry::Log& log_;
    std::thread upkeep_thread_;
};

std::string authority(const platform::ListenAddress& listen) {
    const bool is_v6 = listen.address.find(':') != std::string::npos;
    return std::format("{}:{}", is_v6 ? "[" + listen.address + "]" : listen.address, listen.port);
}

void print_welcome(const config::Config& config, const platform::ListenAddress& listen,
                   const worker::HandlerRegistry* handlers, const std::string& store) {
    std::string kinds = "no worker inside";
    if (handlers != nullptr) {
        kinds.clear();
        for (const std::string& kind : handlers->kinds())
            kinds += (kinds.empty() ? "" : ", ") + kind;
        kinds = kinds.empty() ? "a worker without handlers: declare some in the configuration"
                              : "a worker for " + kinds;
    }
    const std::string url = "http://" + authority(listen);
    const std::string header = config.token_file.empty() ? ""
                                                         : " -H \"Authorization: Bearer $(cat " +
                                                               config.token_file + ")\"";
    print(std::format("deadman {} listens on {}\n"
                      "  store   {}\n"
                      "  inside  {}\n"
                      "  try     curl{} {}/v1/jobs\n"
                      "          deadman job enqueue KIND --url {}\n",
                      DEADMAN_VERSION, url, store, kinds, header, url, url));
}

http::ServerOptions server_options(const config::Config& config, const Listen& asked,
                                   const platform::ListenAddress& listen,
                                   const std::string& scratch, std::string token) {
    http::ServerOptions options;
    options.address = listen.address;
    options.port = listen.port;
    options.scratch_directory = scratch;
    options.api.version = DEADMAN_VERSION;
    options.api.payload_limits.max_bytes = config.limits.max_payload_bytes;
    options.api.guard.hosts = {http::host_without_port(asked.host), listen.address};
    for (const std::string& host : config.hosts)
        options.api.guard.hosts.push_back(http::host_without_port(host));
    options.api.guard.any_address = listen.is_any;
    options.api.guard.token = std::move(token);
    return options;
}

telemetry::LogOptions log_options(const config::Config& config) {
    telemetry::LogOptions options;
    options.level = telemetry::parse_level(config.log_level).value_or(telemetry::Level::info);
    return options;
}

struct Door {
    Listen asked;
    platform::ListenAddress listen;
    std::string token;
};

/// Where to listen, and that it may be done.
base::Result<Door> find_door(const config::Config& config) {
    Door door;
    DEADMAN_TRY(door.asked, parse_listen(config.listen));
    DEADMAN_TRY(door.token, read_token(config.token_file));
    auto probed = platform::probe_listening(door.asked.host, door.asked.port);
    if (!probed) // the machine's state, not the command line's fault
        return base::fail(ErrorCode::unavailable, "listen: " + probed.error().message);
    door.listen = *probed;
    if (!door.listen.is_loopback && door.token.empty())
        return base::fail(ErrorCode::invalid_argument,
                          "listen: " + config.listen +
                              " can be reached from other machines: that needs --token-file");
    return door;
}

} // namespace

base::Status run_serve_process(const config::Config& config, const ServeOptions& options,
                               base::Clock& clock) {
    DEADMAN_TRY(const auto leaving, worker::Leaving::watch(clock, leave_at_once));
    const platform::AdoptedChildren adopted(clock);
    const auto sink = telemetry::make_stderr_sink(
        telemetry::parse_log_format(config.log_format).value_or(telemetry::LogFormat::console));
    telemetry::Log log(clock, *sink, log_options(config));
    telemetry::Metrics metrics;
    DEADMAN_TRY(Door door, find_door(config));
    DEADMAN_TRY(const worker::WorkerOptions worker_settings, worker_options(config));
    DEADMAN_TRY(const auto store, open_patiently(config, clock, *leaving, log));
    DEADMAN_TRY(auto handlers, worker::make_handlers(config, store->name(), clock));
    DEADMAN_TRY(const auto scratch, platform::TemporaryDirectory::create("deadman-http-"));
    DEADMAN_TRY(const auto server,
                http::Server::start(server_options(config, door.asked, door.listen, scratch.path(),
                                                   std::move(door.token)),
                                    {*store, clock, metrics, log}));
    DEADMAN_TRY(const StoreUrl url, parse_store_url(config.store));
    print_welcome(config, door.listen, options.with_worker ? &handlers : nullptr, url.redacted());

    leaving->expect_drain(config.worker.drain_grace);
    Inside inside(config, *store, clock, log, metrics);
    std::thread working;
    if (options.with_worker)
        working = std::thread([&] { inside.work(worker_settings, std::move(handlers), *leaving); });
    leaving->wait();
    log.info("serve_draining");
    server->begin_drain();
    if (working.joinable())
        working.join();
    leaving->wait_out(drain_notice);
    server->stop();
    log.info("serve_ended");
    return {};
}

} // namespace deadman::cli
