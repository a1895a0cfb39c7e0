#pragma once
// One private Postgres server per test program, with an empty, migrated database for each test.
//
// Thread-safety: one thread.

#include <string>

#include "deadman/store/postgres/private_server.h"

namespace deadman::test {

/// Started with the first use, ended with the program.
store::PrivateServer& postgres_server();

/// A database of its own, empty but migrated. Its tick is fresh, so that nothing looks like an
/// outage.
class PostgresDatabase {
  public:
    PostgresDatabase();
    ~PostgresDatabase();

    PostgresDatabase(const PostgresDatabase&) = delete;
    PostgresDatabase& operator=(const PostgresDatabase&) = delete;

    std::string url() const;

  private:
    std::string name_;
};

} // namespace deadman::test
