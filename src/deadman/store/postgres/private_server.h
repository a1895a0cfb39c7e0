#pragma once
// PrivateServer: a throwaway Postgres server on a free loopback port, with a data folder of its own
// that goes with it.
//
// For tests, `chaos run` and `bench`. As root it runs as the user `postgres`, for the server
// refuses root.
//
// Thread-safety: external synchronization.
// Blocking:      start takes about two seconds.
// Ownership:     the server ends with the object, and with this process however that ends.
// Errors:        not_found: no server binaries (DEADMAN_POSTGRES_BIN names their folder).
// unavailable: it did not start.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/paths.h"
#include "deadman/platform/process.h"

namespace deadman::store {

struct PrivateServerOptions {
    bool durable = true;   // as in production; false: fsync off, for tests that lose no power
    bool show_log = false; // on this process's standard error
    std::vector<std::string> settings; // more of them, "name=value"
    std::string standby_of;            // the url() of a server to follow, instead of a new cluster
};

class PrivateServer {
  public:
    static base::Result<PrivateServer> start(base::Clock& clock,
                                             const PrivateServerOptions& options = {});

    PrivateServer(PrivateServer&&) noexcept = default;
    PrivateServer& operator=(PrivateServer&&) noexcept = default;
    ~PrivateServer();

    /// Of a database that exists: "postgres", or one that the caller has made.
    std::string url(const std::string& database = "postgres") const;

    /// The postmaster.
    int pid() const;

    /// Kill -9, as a crash; start_again brings it back on the same port with its data.
    void kill();

    /// Ends it in order; clients are cut off.
    void stop();

    base::Status start_again();

  private:
    PrivateServer(base::Clock& clock, platform::TemporaryDirectory folder, std::string binaries,
                  PrivateServerOptions options);

    base::Status make_cluster();
    base::Status launch();
    base::Status wait_until_ready();
    base::Status run(std::vector<std::string> argv);
    std::string data_folder() const;

    base::Clock* clock_;
    platform::TemporaryDirectory folder_;
    std::string binaries_;
    PrivateServerOptions options_;
    int port_ = 0;
    std::unique_ptr<platform::ChildProcess> process_; // nothing: not running, or moved from
};

} // namespace deadman::store
