#include <algorithm>
#include <condition_variable>
#include <format>
#include <memory>
#include <mutex>
#include <optional>

#include <curl/curl.h>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/enqueue_bench.h"
#include "deadman/platform/listening.h"
#include "deadman/platform/process.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr base::Duration start_patience = 30s;
constexpr base::Duration look_again = 50ms;
constexpr base::Duration leave_patience = 20s;
constexpr long status_created = 201;
constexpr long status_ok = 200;

std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
    return size * count;
}

/// A client that keeps its connection and sends the same body again and again.
class Client {
  public:
    Client() : easy_(curl_easy_init()) {
        headers_ = curl_slist_append(headers_, "Content-Type: application/json");
        headers_ = curl_slist_append(headers_, "Expect:");
        curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
        curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &drop);
        curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy_, CURLOPT_NOPROXY, "*");
    }

    ~Client() {
        curl_easy_cleanup(easy_);
        curl_slist_free_all(headers_);
    }

    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// The status; 0 where nobody answers.
    long get(const std::string& url) {
        curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
        curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
        return perform();
    }

    long post(const std::string& url, const std::string& body) {
        curl_easy_setopt(easy_, CURLOPT_POST, 1L);
        curl_easy_setopt(easy_, CURLOPT_URL, url.c_str());
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
        curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, body.c_str());
        return perform();
    }

  private:
    long perform() {
        long status = 0;
        if (curl_easy_perform(easy_) == CURLE_OK)
            curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
        return status;
    }

    CURL* easy_;
    curl_slist* headers_ = nullptr;
};

/// `deadman serve` without a worker, on a free port of the loopback.
class Server {
  public:
    static base::Result<std::unique_ptr<Server>> start(const Bench& bench) {
        if (bench.target.is_private())
            return base::fail(ErrorCode::invalid_argument,
                              "--http: a server cannot share memory: with this process");
        DEADMAN_TRY(const platform::ListenAddress free, platform::probe_listening("127.0.0.1", 0));
        DEADMAN_TRY(const std::string program, platform::executable_path());
        platform::SpawnOptions options;
        options.argv = {program,
                        "serve",
                        "--no-worker",
                        "--store=" + bench.target.url().text(),
                        "--log-level=error",
                        std::format("--listen=127.0.0.1:{}", free.port)};
        options.stdout_to = platform::StreamTo::null;
        DEADMAN_TRY(auto process, platform::ChildProcess::spawn(options));
        auto server = std::make_unique<Server>(std::move(process), free.port);
        DEADMAN_TRY_STATUS(server->wait_until_ready(bench.clock));
        return server;
    }

    Server(platform::ChildProcess process, std::uint16_t port)
        : process_(std::move(process)), url_(std::format("http://127.0.0.1:{}", port)) {}

    ~Server() {
        process_.kill_group(); // it serves nobody but this benchmark
        process_.wait(leave_patience);
    }

    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    const std::string& url() const {
        return url_;
    }

  private:
    base::Status wait_until_ready(base::Clock& clock) {
        Client client;
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        const base::SteadyTime deadline = clock.steady_now() + start_patience;
        while (client.get(url_ + "/readyz") != status_ok) {
            if (process_.poll() || clock.steady_now() > deadline)
                return base::fail(ErrorCode::unavailable, "`deadman serve` does not start");
            clock.wait_until(lock, never, clock.steady_now() + look_again, [] { return false; });
        }
        return {};
    }

    platform::ChildProcess process_;
    std::string url_;
};

std::string job_json(const EnqueueLoad& load) {
    return std::format(R"({{"kind":"{}","queue":"{}","payload":{}}})", noop_kind, load.queue,
                       write_payload({}, load.payload_bytes));
}

std::string batch_json(const EnqueueLoad& load, int jobs) {
    std::string text = R"({"jobs":[)";
    const std::string job = job_json(load);
    for (int index = 0; index < jobs; ++index)
        text += (index == 0 ? "" : ",") + job;
    return text + "]}";
}

} // namespace

base::Result<EnqueueTimes> run_http_load(const Bench& bench, const EnqueueLoad& load) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    DEADMAN_TRY(const auto server, Server::start(bench));
    std::vector<std::unique_ptr<Client>> clients;
    for (int index = 0; index < load.threads; ++index)
        clients.push_back(std::make_unique<Client>());
    const std::string single = server->url() + "/v1/jobs";
    const std::string many = server->url() + "/v1/jobs:batch";
    const std::string one = job_json(load);
    const std::string full = batch_json(load, load.batch);
    const Send send = [&](int thread, int jobs) -> base::Status {
        Client& client = *clients[static_cast<std::size_t>(thread)];
        const long status = load.batch == 1      ? client.post(single, one)
                            : jobs == load.batch ? client.post(many, full)
                                                 : client.post(many, batch_json(load, jobs));
        if (status != status_created && status != status_ok)
            return base::fail(ErrorCode::internal,
                              std::format("the server answered {} to an enqueue", status));
        return {};
    };
    EnqueueLoad warm_up = load;
    warm_up.jobs = 4 * load.threads * load.batch;
    DEADMAN_TRY_STATUS(run_calls(bench.clock, warm_up, send));
    return run_calls(bench.clock, load, send);
}

} // namespace deadman::bench
