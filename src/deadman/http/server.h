#pragma once
// Server: the Api on a TCP port.
//
// Contract:      answers every request that it took, or closes its connection. While the store is
// away
//                it answers 503 within two seconds, and lives on.
// Thread-safety: safe for concurrent use.
// Blocking:      start() until it listens; stop() until what runs has been answered, within a
// bound. Errors:        start: unavailable, it could not listen. One Server in the life of a
// process: the
//                library beneath allows no more.
// Ownership:     what is in the surroundings must outlive it.

#include <cstdint>
#include <memory>
#include <string>

#include "deadman/base/result.h"
#include "deadman/http/api.h"

namespace deadman::http {

struct ServerOptions {
    std::string address = "127.0.0.1"; // an IP address; names are resolved by the caller
    std::uint16_t port = 7350;
    std::string scratch_directory; // must exist; empty once start() has returned
    ApiOptions api;
    base::Duration answer_within = std::chrono::seconds(30); // else: outcome unknown
    base::Duration stop_within = std::chrono::seconds(5);
};

struct ServerSurroundings {
    store::JobStore& store;
    base::Clock& clock;
    telemetry::Metrics& metrics;
    telemetry::Log& log;
};

class Server {
  public:
    static base::Result<std::unique_ptr<Server>> start(ServerOptions options,
                                                       ServerSurroundings surroundings);
    ~Server();

    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// From now on /readyz says no; everything else goes on.
    void begin_drain();

    /// Takes nothing more, answers what it has, closes the port. Idempotent.
    void stop();

  private:
    class Engine;

    explicit Server(std::unique_ptr<Engine> engine);

    std::unique_ptr<Engine> engine_;
};

} // namespace deadman::http
