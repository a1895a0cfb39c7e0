#include "tests/support/postgres_server.h"

#include <cstdlib>
#include <optional>
#include <stdexcept>

#include <pqxx/pqxx>

#include "deadman/store/postgres/postgres_job_store.h"

namespace deadman::test {
namespace {

base::SystemClock system_clock;

void run(const std::string& url, const std::string& sql) {
    pqxx::connection connection(url);
    pqxx::nontransaction work(connection);
    work.exec(sql);
}

/// Migrated once; copies are quicker than migrations.
void make_template() {
    auto& server = postgres_server();
    run(server.url(), "create database deadman_template");
    store::PostgresOptions options;
    options.url = server.url("deadman_template");
    auto store = store::PostgresJobStore::open(system_clock, options);
    if (!store)
        throw std::runtime_error(store.error().message);
    const auto migrated = (*store)->migrate();
    if (!migrated)
        throw std::runtime_error("migrate: " + migrated.error().message);
}

} // namespace

store::PrivateServer& postgres_server() {
    static std::optional<store::PrivateServer> server = [] {
        auto started = store::PrivateServer::start(
            system_clock,
            {.show_log = std::getenv("DEADMAN_TEST_SERVER_LOG") != nullptr, .settings = {}});
        if (!started)
            throw std::runtime_error("private Postgres server: " + started.error().message);
        return std::optional(std::move(*started));
    }();
    return *server;
}

PostgresDatabase::PostgresDatabase() {
    [[maybe_unused]] static const bool made = (make_template(), true);
    static int number = 0;
    name_ = "test_" + std::to_string(++number);
    run(postgres_server().url(), "create database " + name_ + " template deadman_template");
    run(url(), "update deadman.tick set at = deadman.now()");
}

PostgresDatabase::~PostgresDatabase() {
    try {
        run(postgres_server().url(), "drop database " + name_ + " with (force)");
    } catch (const std::exception&) {
        // The server goes with the program, and the database with it.
    }
}

std::string PostgresDatabase::url() const {
    return postgres_server().url(name_);
}

} // namespace deadman::test
