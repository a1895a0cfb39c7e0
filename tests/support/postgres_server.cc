#include "tests/support/postgres_server.h"

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

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

namespace {

/// Databases whose test is over, emptied: making one costs many times more.
std::vector<std::string>& spare_databases() {
    static std::vector<std::string> names;
    return names;
}

const char* const empty_it = R"(
select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
do $$
declare
    name text;
begin
    for name in select tablename from pg_tables where schemaname = 'public' loop
        execute format('drop table public.%I cascade', name);
    end loop;
    for name in select c.relname from pg_class c where c.relnamespace = 'deadman'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition and c.relname not in ('schema_version', 'tick', 'leader', 'cluster') loop
        execute format('delete from deadman.%I', name);
    end loop;
    for name in select c.relname from pg_class c where c.relnamespace = 'deadman'::regnamespace and c.relkind = 'S' loop
        execute format('alter sequence deadman.%I restart', name);
    end loop;
end $$;
update deadman.tick set grace_from = '-infinity', grace_until = '-infinity';
update deadman.leader set holder = null, by_lock = false, until = '-infinity';
update deadman.cluster set timeline = deadman.timeline();
select deadman.make_partitions();
)";

/// Throws where the test has left more behind than rows.
void make_empty(const std::string& url) {
    pqxx::connection connection(url);
    pqxx::work work(connection);
    work.exec(empty_it);
    const auto version = work.exec("select count(*), max(version) from deadman.schema_version")[0];
    if (version[0].as<int>() != version[1].as<int>())
        throw std::runtime_error("the schema was changed");
    work.commit();
}

} // namespace

PostgresDatabase::PostgresDatabase() {
    [[maybe_unused]] static const bool made = (make_template(), true);
    static int number = 0;
    if (spare_databases().empty()) {
        name_ = "test_" + std::to_string(++number);
        run(postgres_server().url(), "create database " + name_ + " template deadman_template");
    } else {
        name_ = spare_databases().back();
        spare_databases().pop_back();
    }
    run(url(), "update deadman.tick set at = deadman.now()");
}

PostgresDatabase::~PostgresDatabase() {
    try {
        make_empty(url());
        spare_databases().push_back(name_);
    } catch (const std::exception&) {
        // It goes with the server; the next test gets a new one.
    }
}

std::string PostgresDatabase::url() const {
    return postgres_server().url(name_);
}

} // namespace deadman::test
