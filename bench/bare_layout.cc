// What Postgres itself gives a job queue: claim and complete on the layout that the store is built
// on, and nothing else: no sessions, priorities, retries or cancels. Plain libpq, each batch and
// each completion a commit of its own.
//
//   bare_layout URL JOBS BATCH CONNECTIONS
//
// Prints {"enqueued_per_s":..,"drained_per_s":..,"log_bytes_per_job":..}. Makes and drops the
// schema `bare`.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <libpq-fe.h>

#include "deadman/base/clock.h"

namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

constexpr const char* layout = R"sql(
drop schema if exists bare cascade;
create schema bare;
create table bare.job(id bigint primary key, kind text not null, created_at timestamptz not null default now(),
    payload text not null) partition by range (id);
create table bare.job_0 partition of bare.job for values from (0) to (10000000);
create table bare.job_1 partition of bare.job for values from (10000000) to (maxvalue);
create table bare.ready(queue int not null, priority smallint not null, ticket bigint not null, id bigint not null,
    attempt smallint not null default 0, primary key (queue, priority, ticket))
    with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create table bare.lease(fence bigint generated always as identity primary key, session bigint not null,
    claimed_at timestamptz not null default now(), ids bigint[] not null, attempts smallint[] not null);
create table bare.done(id bigint not null, fence bigint not null, session bigint not null, claimed_at timestamptz not null,
    finished_at timestamptz not null default now(), state smallint not null, result text, message text)
    partition by range (finished_at);
create table bare.done_0 partition of bare.done for values from (minvalue) to (maxvalue);
create index on bare.done(id);
create index on bare.done(finished_at, id) where state <> 1;
)sql";

// Each claim starts after the last ticket of the one before it.
constexpr const char* claim = R"sql(
with taken as (
    delete from bare.ready where ctid = any (array(select ctid from bare.ready
        where queue = 1 and priority = 5 and ticket > $2::bigint
        order by queue, priority, ticket limit $1::int for update skip locked))
    returning id, ticket, attempt),
held as (
    insert into bare.lease(session, ids, attempts) select 1, array_agg(id), array_agg(attempt) from taken
    having count(*) > 0 returning fence)
select t.id, t.ticket, (select fence from held), j.payload from taken t join bare.job j using (id)
)sql";

// Nothing is written where the lease is gone: that is the fence.
constexpr const char* complete = R"sql(
with ended as (delete from bare.lease where fence = $1::bigint and session = 1 returning fence, session, claimed_at, ids)
insert into bare.done(id, fence, session, claimed_at, state)
    select u.id, e.fence, e.session, e.claimed_at, 1 from ended e, unnest(e.ids) u(id)
)sql";

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "bare_layout: %s\n", why.c_str());
    std::exit(1);
}

class Connection {
  public:
    explicit Connection(const char* url) : raw_(PQconnectdb(url)) {
        if (PQstatus(raw_) != CONNECTION_OK)
            give_up(PQerrorMessage(raw_));
        run("set client_min_messages = warning");
    }

    ~Connection() {
        PQfinish(raw_);
    }

    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    Result run(const char* sql) {
        return checked(PQexec(raw_, sql));
    }

    void prepare(const char* name, const char* sql) {
        checked(PQprepare(raw_, name, sql, 0, nullptr));
    }

    /// Answers in binary.
    template <std::size_t count>
    Result execute(const char* name, const std::array<std::string, count>& values) {
        std::array<const char*, count> texts{};
        for (std::size_t index = 0; index < count; ++index)
            texts[index] = values[index].c_str();
        return checked(
            PQexecPrepared(raw_, name, static_cast<int>(count), texts.data(), nullptr, nullptr, 1));
    }

    void copy_in(const char* statement, const std::string& rows) {
        Result begun(PQexec(raw_, statement), &PQclear);
        if (PQresultStatus(begun.get()) != PGRES_COPY_IN ||
            PQputCopyData(raw_, rows.data(), static_cast<int>(rows.size())) != 1 ||
            PQputCopyEnd(raw_, nullptr) != 1)
            give_up(PQerrorMessage(raw_));
        while (PGresult* result = PQgetResult(raw_))
            checked(result);
    }

    double number(const char* sql) {
        const Result result = run(sql);
        return std::strtod(PQgetvalue(result.get(), 0, 0), nullptr);
    }

  private:
    Result checked(PGresult* result) {
        Result owned(result, &PQclear);
        const ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            give_up(PQerrorMessage(raw_));
        return owned;
    }

    PGconn* raw_;
};

std::int64_t read_int64(const PGresult* result, int row, int column) {
    std::uint64_t bits = 0;
    const auto* bytes =
        reinterpret_cast<const unsigned char*>(PQgetvalue(result, row, column)); // big-endian
    for (int index = 0; index < 8; ++index)
        bits = bits << 8U | bytes[index];
    return static_cast<std::int64_t>(bits);
}

struct Plan {
    const char* url = "";
    std::int64_t jobs = 0;
    int batch = 0;
    int connections = 0;
};

void enqueue(const Plan& plan, int share) {
    Connection connection(plan.url);
    const std::string payload = R"({"pad":")" + std::string(90, 'x') + "\"}";
    for (std::int64_t first = static_cast<std::int64_t>(share) * plan.batch; first < plan.jobs;
         first += static_cast<std::int64_t>(plan.connections) * plan.batch) {
        const std::int64_t last = std::min(first + plan.batch, plan.jobs);
        std::string jobs;
        std::string ready;
        for (std::int64_t id = first + 1; id <= last; ++id) {
            const std::string text = std::to_string(id);
            jobs += text + "\tbench\t" + payload + "\n";
            ready += "1\t5\t" + text + "\t" + text + "\n";
        }
        connection.run("begin");
        connection.copy_in("copy bare.job(id, kind, payload) from stdin", jobs);
        connection.copy_in("copy bare.ready(queue, priority, ticket, id) from stdin", ready);
        connection.run("commit");
    }
}

void drain(const Plan& plan, std::atomic<std::int64_t>& ended) {
    Connection connection(plan.url);
    connection.prepare("claim", claim);
    connection.prepare("complete", complete);
    std::int64_t cursor = 0;
    while (ended < plan.jobs) {
        const Result claimed =
            connection.execute<2>("claim", {std::to_string(plan.batch), std::to_string(cursor)});
        const int count = PQntuples(claimed.get());
        if (count == 0)
            continue; // the other connection holds the last ones
        for (int row = 0; row < count; ++row)
            cursor = std::max(cursor, read_int64(claimed.get(), row, 1));
        connection.execute<1>("complete", {std::to_string(read_int64(claimed.get(), 0, 2))});
        ended += count;
    }
}

/// Seconds that `work(index)` takes on so many threads.
template <typename Work>
double seconds(deadman::base::Clock& clock, int threads, const Work& work) {
    const auto began = clock.steady_now();
    std::vector<std::thread> running;
    for (int index = 0; index < threads; ++index)
        running.emplace_back(work, index);
    for (std::thread& thread : running)
        thread.join();
    return std::chrono::duration<double>(clock.steady_now() - began).count();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 5)
        give_up("usage: bare_layout URL JOBS BATCH CONNECTIONS");
    const Plan plan{.url = argv[1],
                    .jobs = std::atoll(argv[2]),
                    .batch = std::atoi(argv[3]),
                    .connections = std::atoi(argv[4])};
    if (plan.jobs < 1 || plan.batch < 1 || plan.connections < 1)
        give_up("JOBS, BATCH and CONNECTIONS must be at least 1");
    deadman::base::SystemClock clock;
    Connection connection(plan.url);
    connection.run(layout);
    const double in = seconds(clock, plan.connections, [&](int index) { enqueue(plan, index); });
    connection.run("analyze bare.job, bare.ready");
    connection.run("checkpoint");
    constexpr const char* log = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn";
    const double log_before = connection.number(log);
    std::atomic<std::int64_t> ended{0};
    const double out = seconds(clock, plan.connections, [&](int) { drain(plan, ended); });
    const double log_after = connection.number(log);
    const double recorded = connection.number("select count(*) from bare.done");
    connection.run("drop schema bare cascade");
    if (recorded != static_cast<double>(plan.jobs))
        give_up("not every job ended once");
    const auto jobs = static_cast<double>(plan.jobs);
    std::printf("{\"enqueued_per_s\":%.0f,\"drained_per_s\":%.0f,\"log_bytes_per_job\":%.0f}\n",
                jobs / in, jobs / out, (log_after - log_before) / jobs);
}
