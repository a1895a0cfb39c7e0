#include "tests/support/postgres_wire.h"

#include <memory>

#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>

#include "deadman/base/clock.h"

namespace deadman::test {
namespace {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

void pause_ms(int milliseconds) {
    ::poll(nullptr, 0, milliseconds);
}

WireRows rows_of(const PGresult* result) {
    WireRows rows;
    for (int row = 0; row < PQntuples(result); ++row) {
        rows.emplace_back();
        for (int column = 0; column < PQnfields(result); ++column)
            rows.back().emplace_back(PQgetvalue(result, row, column));
    }
    return rows;
}

void ignore_notice(void* /*argument*/, const PGresult* /*notice*/) {}

} // namespace

PostgresWire::PostgresWire(const std::string& url)
    : url_(url), connection_(PQconnectdb(url.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) {
        const std::string message = PQerrorMessage(connection_);
        PQfinish(connection_);
        throw WireFailure("08001", message);
    }
    PQsetNoticeReceiver(connection_, ignore_notice, nullptr);
    pid_ = PQbackendPID(connection_);
}

PostgresWire::~PostgresWire() {
    PQfinish(connection_);
}

void PostgresWire::send(const std::string& sql) {
    if (PQsendQuery(connection_, sql.c_str()) == 0)
        throw WireFailure("08006", PQerrorMessage(connection_));
    PQflush(connection_);
}

WireRows PostgresWire::collect() {
    WireRows rows;
    std::string sqlstate;
    std::string message;
    for (;;) {
        const Result result(PQgetResult(connection_), &PQclear);
        if (!result)
            break;
        const ExecStatusType status = PQresultStatus(result.get());
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            rows = rows_of(result.get());
            continue;
        }
        const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        sqlstate = state != nullptr ? state : "08006";
        message = PQresultErrorMessage(result.get());
    }
    if (!sqlstate.empty())
        throw WireFailure(sqlstate, message);
    return rows;
}

WireRows PostgresWire::run(const std::string& sql) {
    send(sql);
    return collect();
}

std::string PostgresWire::one(const std::string& sql) {
    const WireRows rows = run(sql);
    if (rows.empty() || rows[0].empty())
        throw std::runtime_error("no row: " + sql);
    return rows[0][0];
}

std::int64_t PostgresWire::number(const std::string& sql) {
    return std::stoll(one(sql));
}

std::string PostgresWire::sqlstate_of(const std::string& sql) {
    send(sql);
    return sqlstate_of_finish();
}

bool PostgresWire::blocks() {
    if (!control_)
        control_ = std::make_unique<PostgresWire>(url_);
    for (;;) {
        if (PQconsumeInput(connection_) == 0 || PQisBusy(connection_) == 0)
            return false;
        const std::string waits = control_->one(
            "select coalesce((select wait_event_type = 'Lock' from pg_stat_activity where pid = " +
            std::to_string(pid_) + "), false)");
        if (waits == "t")
            return true;
        pause_ms(2);
    }
}

WireRows PostgresWire::finish() {
    return collect();
}

std::string PostgresWire::sqlstate_of_finish() {
    try {
        collect();
        return {};
    } catch (const WireFailure& failure) {
        return failure.sqlstate();
    }
}

int PostgresWire::take_notifications() {
    run("select 1"); // brings what the server has for us
    int count = 0;
    while (PGnotify* heard = PQnotifies(connection_)) {
        PQfreemem(heard);
        ++count;
    }
    return count;
}

void PostgresWire::cut() {
    ::shutdown(PQsocket(connection_), SHUT_RDWR);
}

bool eventually(const std::function<bool()>& holds) {
    const base::SystemClock clock;
    const base::SteadyTime deadline = clock.steady_now() + std::chrono::seconds(10);
    while (!holds()) {
        if (clock.steady_now() > deadline)
            return false;
        pause_ms(20);
    }
    return true;
}

} // namespace deadman::test
