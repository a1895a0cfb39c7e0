#pragma once
// ClaimProtocol: the steps of the claim protocol as plain SQL on bare connections, for directed
// interleavings.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {

struct WireSession {
    std::string id;
    std::string key;
};

struct WireClaim {
    std::int64_t job = 0;
    std::int64_t fence = 0;
    bool solo = false;
    int lane = 0;
    std::int64_t ticket = 0;
};

struct WireCursor {
    std::int64_t returned = 0;
    std::int64_t fresh = 0;
};

// Outcomes as complete_batch numbers them.
enum WireOutcome {
    succeeded = 1,
    failed = 2,
    cancelled = 3,
    error = 10,
    snooze = 12,
    release = 13
};

class ClaimProtocol : public testing::Test {
  protected:
    ClaimProtocol();

    std::unique_ptr<PostgresWire> connect(const std::string& settings = "");

    WireSession session(const std::string& lease = "30 s", bool hints = false);

    /// Ids of new jobs, in order.
    std::vector<std::int64_t> enqueue(PostgresWire& on, int count, bool transactional = false);

    static std::string claim_sql(const WireSession& session, int number, int most = 10,
                                 WireCursor after = {});
    static std::vector<WireClaim> claims(const WireRows& rows);
    static std::vector<WireClaim> claim(PostgresWire& on, const WireSession& session, int number,
                                        int most = 10, WireCursor after = {});
    static std::vector<WireClaim> claim_suspect(PostgresWire& on, const WireSession& session,
                                                int number);

    static std::string complete_sql(const WireSession& session, const std::vector<WireClaim>& runs,
                                    WireOutcome outcome = succeeded);
    static std::vector<std::string> verdicts(const WireRows& rows);
    static std::vector<std::string> complete(PostgresWire& on, const WireSession& session,
                                             const std::vector<WireClaim>& runs,
                                             WireOutcome outcome = succeeded);
    static std::string complete_all_sql(const WireSession& session,
                                        const std::vector<WireClaim>& runs);

    /// Of the application's side: guard or complete of one run.
    static std::string app_sql(const std::string& function, const WireClaim& run,
                               const WireSession& session);

    /// The session's last renewal lies an hour back.
    void expire(const WireSession& session);

    /// A fresh tick, no grace; then marks sessions. Gives the ids marked, as text.
    std::string mark();
    std::int64_t return_leases(PostgresWire& on);
    std::string reap();

    std::string state(std::int64_t job);
    std::vector<std::string> states(const std::vector<std::int64_t>& jobs);
    std::int64_t ready();

    PostgresDatabase database;
    PostgresWire c;
};

} // namespace deadman::test
