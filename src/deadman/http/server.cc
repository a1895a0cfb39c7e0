// The only file that sees Drogon. All routing is ours: Drogon parses requests, writes responses and
// owns the event loops; every request arrives in one advice, before its own routing.

#include "deadman/http/server.h"

#include <atomic>
#include <filesystem>
#include <future>
#include <system_error>
#include <thread>

#include <drogon/HttpAppFramework.h>
#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>
#include <trantor/utils/Logger.h>

#include "deadman/http/internal/exchanges.h"
#include "deadman/http/work_pool.h"

namespace deadman::http {
namespace {

using DrogonReply = std::function<void(const drogon::HttpResponsePtr&)>;

constexpr base::Duration patience_without_store = std::chrono::milliseconds(1'300);
constexpr double look_every_seconds = 0.25;
constexpr std::size_t idle_connection_seconds = 60;
constexpr std::size_t most_connections = 1'000; // a body of each may be in memory

std::string lower(std::string text) {
    for (char& c : text)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

Request read_request(const drogon::HttpRequest& from) {
    Request request;
    request.method = from.isHead() ? "GET" : from.methodString();
    request.path = from.getOriginalPath();
    request.query = from.query();
    for (const auto& [name, value] : from.headers())
        request.headers.emplace(lower(name), value);
    request.body = std::string(from.body());
    return request;
}

drogon::HttpResponsePtr write_response(Response from) {
    auto response = drogon::HttpResponse::newHttpResponse();
    response->setStatusCode(static_cast<drogon::HttpStatusCode>(from.status));
    if (from.content_type.empty())
        response->setContentTypeCode(drogon::CT_NONE);
    else
        response->setContentTypeCodeAndCustomString(drogon::CT_CUSTOM, from.content_type);
    for (auto& [name, value] : from.headers)
        response->addHeader(name, std::move(value));
    response->setBody(std::move(from.body));
    return response;
}

Problem store_away(bool may_have_happened) {
    Problem problem{503, "unavailable",           "the store is away: nothing was done, try again",
                    {},  std::chrono::seconds(1), {}};
    if (may_have_happened) {
        problem.code = "outcome_unknown";
        problem.detail = "the store went away or took too long meanwhile: look, or send it again "
                         "with the same Idempotency-Key";
    }
    return problem;
}

Problem busy() {
    return {
        503, "exhausted", "too many requests are waiting: try again", {}, std::chrono::seconds(1),
        {}};
}

Problem leaving() {
    return {503, "unavailable",           "the server is leaving: try again",
            {},  std::chrono::seconds(1), {}};
}

} // namespace

class Server::Engine {
  public:
    Engine(ServerOptions options, ServerSurroundings surroundings)
        : options_(std::move(options)), surroundings_(surroundings),
          watch_(surroundings.store, surroundings.clock),
          api_(options_.api, {surroundings.store, surroundings.clock, surroundings.metrics,
                              surroundings.log, watch_}) {}

    ~Engine() {
        stop();
    }

    base::Status start();
    void stop();

    void begin_drain() {
        api_.begin_drain();
    }

  private:
    void configure(std::promise<void>& listening);
    void receive(const drogon::HttpRequestPtr& from, DrogonReply&& reply);
    void dispatch(Request request, Match match, DrogonReply reply);
    void look_for_stuck();
    void refuse_older_than(base::SteadyTime time);
    void refuse(Exchange& exchange, const std::function<Problem(bool begun)>& problem);

    const ServerOptions options_;
    ServerSurroundings surroundings_;
    StoreWatch watch_;
    Api api_;
    Exchanges exchanges_;
    std::atomic<bool> leaving_{false};
    std::unique_ptr<WorkPool> pool_ = std::make_unique<WorkPool>();
    std::thread loop_;
};

void Server::Engine::configure(std::promise<void>& listening) {
    auto& log = surroundings_.log;
    trantor::Logger::setLogLevel(trantor::Logger::kWarn);
    trantor::Logger::setOutputFunction(
        [&log](const char* text, const std::uint64_t length) {
            log.warn("http_library", {{"text", std::string_view(text, length)}});
        },
        [] {});
    auto& app = drogon::app();
    app.disableSigtermHandling();
    app.setThreadNum(1);
    app.setUploadPath(options_.scratch_directory);
    app.setClientMaxBodySize(api_.max_body_bytes());
    app.setClientMaxMemoryBodySize(api_.max_body_bytes()); // so no body goes through a file
    app.setIdleConnectionTimeout(idle_connection_seconds);
    app.setMaxConnectionNum(most_connections);
    app.setPipeliningRequestsNumber(16);
    app.enableGzip(false);
    app.enableServerHeader(false);
    app.registerPreRoutingAdvice(
        [this](const drogon::HttpRequestPtr& request, drogon::AdviceCallback&& reply,
               drogon::AdviceChainCallback&&) { receive(request, std::move(reply)); });
    app.registerBeginningAdvice([this, &listening] {
        // Folders for uploads, which there never are.
        std::error_code ignored;
        std::filesystem::remove_all(options_.scratch_directory, ignored);
        listening.set_value();
    });
    app.getLoop()->runEvery(look_every_seconds, [this] { look_for_stuck(); });
    app.addListener(options_.address, options_.port);
}

base::Status Server::Engine::start() {
    std::promise<void> listening;
    loop_ = std::thread([this, &listening] {
        configure(listening);
        drogon::app().run();
    });
    listening.get_future().get();
    return {};
}

void Server::Engine::receive(const drogon::HttpRequestPtr& from, DrogonReply&& reply) {
    try {
        Request request = read_request(*from);
        auto admitted = api_.admit(request);
        if (auto* response = std::get_if<Response>(&admitted))
            reply(write_response(std::move(*response)));
        else
            dispatch(std::move(request), std::move(std::get<Match>(admitted)), std::move(reply));
    } catch (const std::exception& error) {
        // An exception that left an event loop would end the process.
        surroundings_.log.error("http_request_threw", {{"what", error.what()}});
        reply(write_response(render(Problem{}, "unknown")));
    }
}

void Server::Engine::dispatch(Request request, Match match, DrogonReply reply) {
    auto exchange = std::make_shared<Exchange>(
        std::move(request), std::move(match), surroundings_.clock.steady_now(),
        [reply = std::move(reply)](Response response) {
            reply(write_response(std::move(response))); // posts itself to the connection's loop
        });
    if (leaving_)
        return refuse(*exchange, [](bool) { return leaving(); });
    exchanges_.add(exchange);
    const bool taken = pool_->submit([this, exchange] {
        if (exchange->begin()) {
            Response response = api_.run(exchange->request(), exchange->match());
            exchange->answer([&response](bool) { return std::move(response); });
        }
        exchanges_.remove(exchange);
    });
    if (taken)
        return;
    refuse(*exchange, [](bool) { return busy(); });
    exchanges_.remove(exchange);
}

void Server::Engine::look_for_stuck() {
    const bool is_up = watch_.is_up();
    const base::Duration patience = is_up ? options_.answer_within : patience_without_store;
    refuse_older_than(surroundings_.clock.steady_now() - patience);
}

void Server::Engine::refuse_older_than(base::SteadyTime time) {
    for (const ExchangePtr& exchange : exchanges_.older_than(time)) {
        const bool changes_state = exchange->match().route->access.changes_state;
        refuse(*exchange, [&](bool begun) { return store_away(begun && changes_state); });
    }
}

void Server::Engine::refuse(Exchange& exchange, const std::function<Problem(bool)>& problem) {
    exchange.answer([&](bool begun) {
        return api_.refuse(exchange.request(), exchange.match(), problem(begun));
    });
}

void Server::Engine::stop() {
    if (!loop_.joinable())
        return;
    leaving_ = true;
    exchanges_.wait_until_empty(surroundings_.clock, options_.stop_within);
    // What still runs is answered now: once the loops are gone, nobody may post to them.
    refuse_older_than(base::SteadyTime::max());
    // Behind the answers that have been posted to the loop.
    drogon::app().getIOLoop(0)->runInLoop([] { drogon::app().quit(); });
    loop_.join();
    pool_.reset();
    trantor::Logger::setOutputFunction([](const char*, const std::uint64_t) {}, [] {});
}

Server::Server(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

Server::~Server() = default;

base::Result<std::unique_ptr<Server>> Server::start(ServerOptions options,
                                                    ServerSurroundings surroundings) {
    auto engine = std::make_unique<Engine>(std::move(options), surroundings);
    DEADMAN_TRY_STATUS(engine->start());
    return std::unique_ptr<Server>(new Server(std::move(engine)));
}

void Server::begin_drain() {
    engine_->begin_drain();
}

void Server::stop() {
    engine_->stop();
}

} // namespace deadman::http
