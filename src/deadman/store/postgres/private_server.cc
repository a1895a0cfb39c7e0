#include "deadman/store/postgres/private_server.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

#include "deadman/base/random.h"

namespace deadman::store {

using base::ErrorCode;

namespace {

constexpr base::Duration start_patience = std::chrono::seconds(60);
constexpr base::Duration stop_patience = std::chrono::seconds(20);
constexpr base::Duration look_again = std::chrono::milliseconds(20);
constexpr int port_attempts = 20;

/// The folder with the newest server's binaries.
base::Result<std::string> find_binaries() {
    if (const char* given = std::getenv("DEADMAN_POSTGRES_BIN"); given != nullptr)
        return std::string(given);
    std::error_code ignored;
    std::pair<int, std::string> newest{0, {}};
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
        const int version = std::atoi(entry.path().filename().c_str());
        if (std::filesystem::exists(entry.path() / "bin" / "initdb", ignored))
            newest = std::max(newest, std::pair(version, (entry.path() / "bin").string()));
    }
    if (newest.first == 0)
        return base::fail(ErrorCode::not_found, "no Postgres server on this machine: install "
                                                "postgresql, or name its folder in "
                                                "DEADMAN_POSTGRES_BIN");
    return newest.second;
}

void pause(base::Clock& clock, base::Duration by) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    clock.wait_until(lock, never, clock.steady_now() + by, [] { return false; });
}

} // namespace

PrivateServer::PrivateServer(base::Clock& clock, platform::TemporaryDirectory folder,
                             std::string binaries, PrivateServerOptions options)
    : clock_(&clock), folder_(std::move(folder)), binaries_(std::move(binaries)),
      options_(std::move(options)) {}

PrivateServer::~PrivateServer() {
    if (!process_)
        return;
    process_->signal_process(SIGQUIT); // at once: its data goes with it
    if (!process_->wait(stop_patience))
        process_->kill_group();
}

base::Result<PrivateServer> PrivateServer::start(base::Clock& clock,
                                                 const PrivateServerOptions& options) {
    DEADMAN_TRY(std::string binaries, find_binaries());
    DEADMAN_TRY(auto folder, platform::TemporaryDirectory::create("deadman-postgres"));
    PrivateServer server(clock, std::move(folder), std::move(binaries), options);
    DEADMAN_TRY_STATUS(server.make_cluster());
    base::Random random(base::random_seed());
    // A port that is taken shows itself when the server starts: no gap between looking and taking.
    for (int attempt = 0; attempt < port_attempts; ++attempt) {
        server.port_ = 20'000 + static_cast<int>(random.below(10'000));
        const base::Status launched = server.launch();
        if (launched)
            return server;
        if (attempt + 1 == port_attempts)
            return launched.error();
    }
    return base::fail(ErrorCode::unavailable, "no free port");
}

std::string PrivateServer::data_folder() const {
    return folder_.path() + "/data";
}

std::string PrivateServer::url(const std::string& database) const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

int PrivateServer::pid() const {
    return process_ ? process_->pid() : 0;
}

base::Status PrivateServer::run(std::vector<std::string> argv) {
    platform::SpawnOptions options;
    options.argv = std::move(argv);
    options.working_directory = folder_.path();
    options.stdout_to = platform::StreamTo::null;
    DEADMAN_TRY(auto child, platform::ChildProcess::spawn(options));
    const auto ended = child.wait(start_patience);
    if (!ended || ended->code != 0)
        return base::fail(ErrorCode::unavailable, options.argv.front() + " failed");
    return {};
}

namespace {

/// The command, run as `postgres` where we are root.
std::vector<std::string> as_server_user(std::vector<std::string> argv) {
    if (!platform::is_superuser())
        return argv;
    std::vector<std::string> whole{"setpriv", "--reuid=postgres", "--regid=postgres",
                                   "--clear-groups", "--"};
    whole.insert(whole.end(), argv.begin(), argv.end());
    return whole;
}

} // namespace

base::Status PrivateServer::make_cluster() {
    if (platform::is_superuser())
        DEADMAN_TRY_STATUS(run({"chown", "postgres:", folder_.path()}));
    if (!options_.standby_of.empty())
        return run(
            as_server_user({binaries_ + "/pg_basebackup", "-D", data_folder(), "-d",
                            options_.standby_of, "-R", "-X", "stream", "-c", "fast", "--no-sync"}));
    // Not a user named `deadman`: unqualified names would then mean our schema.
    return run(as_server_user({binaries_ + "/initdb", "-D", data_folder(), "-U", "postgres",
                               "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"}));
}

base::Status PrivateServer::launch() {
    std::vector<std::string> argv{binaries_ + "/postgres", "-D", data_folder()};
    const auto set = [&](const std::string& setting) {
        argv.push_back("-c");
        argv.push_back(setting);
    };
    set("listen_addresses=127.0.0.1");
    set("port=" + std::to_string(port_));
    set("unix_socket_directories=");
    set("shared_buffers=64MB");
    set("max_connections=100");
    set("max_wal_size=512MB");
    set("logging_collector=off");
    set("log_destination=stderr");
    if (!options_.durable) {
        set("fsync=off");
        set("full_page_writes=off");
    }
    for (const std::string& setting : options_.settings)
        set(setting);
    platform::SpawnOptions options;
    options.argv = as_server_user(std::move(argv));
    options.working_directory = folder_.path();
    options.stdout_to = platform::StreamTo::null;
    options.stderr_to = options_.show_log ? platform::StreamTo::inherit : platform::StreamTo::null;
    DEADMAN_TRY(auto child, platform::ChildProcess::spawn(options));
    process_ = std::make_unique<platform::ChildProcess>(std::move(child));
    return wait_until_ready();
}

// The server writes its state into the last line of its pid file.
base::Status PrivateServer::wait_until_ready() {
    const base::SteadyTime deadline = clock_->steady_now() + start_patience;
    while (clock_->steady_now() < deadline) {
        if (process_->poll())
            return base::fail(ErrorCode::unavailable, "the Postgres server did not start");
        std::ifstream file(data_folder() + "/postmaster.pid");
        std::string line;
        if (std::getline(file, line) && line == std::to_string(pid())) // not a predecessor's
            while (std::getline(file, line))
                if (line.starts_with("ready") || line.starts_with("standby"))
                    return {};
        pause(*clock_, look_again);
    }
    return base::fail(ErrorCode::unavailable, "the Postgres server is not ready in time");
}

void PrivateServer::kill() {
    if (!process_)
        return;
    process_->kill_group();
    process_->wait(stop_patience);
    process_.reset();
}

void PrivateServer::stop() {
    if (!process_)
        return;
    process_->signal_process(SIGINT); // a fast shutdown
    if (!process_->wait(stop_patience))
        process_->kill_group();
    process_.reset();
}

base::Status PrivateServer::start_again() {
    stop();
    // Processes of a killed server may live on for a moment, and a new one refuses to start beside
    // them.
    const base::SteadyTime deadline = clock_->steady_now() + start_patience;
    for (;;) {
        base::Status launched = launch();
        if (launched || clock_->steady_now() > deadline)
            return launched;
        pause(*clock_, 5 * look_again);
    }
}

} // namespace deadman::store
