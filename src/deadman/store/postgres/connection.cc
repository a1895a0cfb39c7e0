#include "deadman/store/postgres/internal/connection.h"

#include <algorithm>
#include <map>
#include <memory>

#include <libpq-fe.h>

namespace deadman::store::postgres {
namespace {

using Words = std::map<std::string, std::string>;

struct FreeOptions {
    void operator()(PQconninfoOption* options) const {
        PQconninfoFree(options);
    }
};

/// What the URL says, as libpq's own words.
base::Result<Words> parse_url(const std::string& url) {
    char* complaint = nullptr;
    const std::unique_ptr<PQconninfoOption, FreeOptions> options(
        PQconninfoParse(url.c_str(), &complaint));
    std::string message = complaint != nullptr ? complaint : "not understood";
    PQfreemem(complaint);
    if (!options) {
        while (message.ends_with('\n'))
            message.pop_back();
        return base::fail(base::ErrorCode::invalid_argument, "store URL: " + message);
    }
    Words words;
    for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option)
        if (option->val != nullptr)
            words[option->keyword] = option->val;
    return words;
}

std::string quoted(const std::string& value) {
    std::string text = "'";
    for (const char c : value) {
        if (c == '\'' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + "'";
}

/// The URL with our defaults beside it; what it says itself wins.
std::string connection_string(const ConnectionSettings& settings) {
    Words words = parse_url(settings.url).value_or(Words{});
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(settings.connect_timeout).count();
    words.try_emplace("application_name", "deadman");
    words.try_emplace("connect_timeout", std::to_string(std::max<std::int64_t>(seconds, 2)));
    words.try_emplace("keepalives_idle", "3");
    words.try_emplace("keepalives_interval", "1");
    words.try_emplace("keepalives_count", "3");
    words.try_emplace("tcp_user_timeout", std::to_string(settings.stall_bound_ms.load()));
    std::string text;
    for (const auto& [name, value] : words)
        text += name + '=' + quoted(value) + ' ';
    return text;
}

} // namespace

ConnectionSettings::ConnectionSettings(const PostgresOptions& options, base::Clock& clock)
    : url(options.url), connect_timeout(options.connect_timeout),
      through_pooler(options.through_pooler), shift(options.clock_shift),
      call_timeout(options.call_timeout),
      stall_bound_ms(
          std::chrono::duration_cast<std::chrono::milliseconds>(options.stall_bound).count()),
      watch(std::make_unique<CallWatch>(clock)) {}

base::Duration ConnectionSettings::patience(Pace pace) const {
    switch (pace) {
    case Pace::quick:
        return call_timeout;
    case Pace::slow:
        return 6 * call_timeout;
    case Pace::unhurried:
        break;
    }
    return std::chrono::hours(1);
}

void ConnectionSettings::bound_stalls(base::Duration bound) {
    const std::int64_t ms = std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(bound).count(), 100);
    std::int64_t now = stall_bound_ms.load();
    while (ms < now && !stall_bound_ms.compare_exchange_weak(now, ms)) {
    }
}

Connection::Connection(const ConnectionSettings& settings)
    : settings_(settings), connection_(connection_string(settings)) {
    {
        const auto watched = watch(Pace::quick);
        connection_.set_client_encoding("UTF8");
    }
    if (!settings_.through_pooler)
        run("set default_transaction_isolation = 'read committed'; set timezone = 'UTC'; "
            "set synchronous_commit = on; set jit = off"); // to compile costs more than to run
}

void Connection::run(const std::string& sql) {
    const auto watched = watch(Pace::quick);
    pqxx::nontransaction work(connection_);
    work.exec(sql);
}

void Connection::prepare_for_use() {
    if (settings_.shift)
        apply_shift(*settings_.shift);
    const std::int64_t bound = settings_.stall_bound_ms.load();
    if (settings_.through_pooler || bound == applied_bound_ms_)
        return;
    // A client that is stopped, or gone without a word, must not keep locks past its lease.
    const std::string ms = std::to_string(bound);
    run("set idle_in_transaction_session_timeout = " + ms + "; set tcp_user_timeout = " + ms +
        "; set client_connection_check_interval = " + ms);
    applied_bound_ms_ = bound;
}

void Connection::apply_shift(const ClockShift& clock) {
    const std::int64_t shift = clock.wall_us.load();
    const std::string interval = "interval '" + std::to_string(shift / 1'000'000) + " seconds " +
                                 std::to_string(shift % 1'000'000) + " microseconds'";
    if (clock.stands_still) // anew for each use
        run("select set_config('deadman.clock_offset', (timestamptz 'epoch' + " + interval +
            " - clock_timestamp())::text, false)");
    else if (shift != applied_shift_us_)
        run("select set_config('deadman.clock_offset', (" + interval + ")::text, false)");
    applied_shift_us_ = shift;
}

bool Connection::is_alive() {
    try {
        connection_.get_notifs(); // reads what has arrived, and the end of the stream with it
        return connection_.is_open();
    } catch (const pqxx::failure&) {
        return false;
    }
}

pqxx::result Connection::query(const Statement& statement, const pqxx::params& parameters) {
    const auto watched = watch(statement.pace);
    try {
        pqxx::nontransaction work(connection_);
        return query(work, statement, parameters);
    } catch (const std::exception&) {
        if (!watched.was_cut())
            throw;
        throw pqxx::broken_connection("the server did not answer " + std::string(statement.name) +
                                      " in time");
    }
}

pqxx::result Connection::query(pqxx::transaction_base& transaction, const Statement& statement,
                               const pqxx::params& parameters) {
    if (settings_.through_pooler)
        return transaction.exec(statement.sql, parameters);
    if (!prepared_.contains(&statement)) {
        connection_.prepare(statement.name, statement.sql);
        prepared_.insert(&statement);
    }
    return transaction.exec(pqxx::prepped{statement.name}, parameters);
}

base::Status check_url(const std::string& url) {
    DEADMAN_TRY_STATUS(parse_url(url));
    return {};
}

} // namespace deadman::store::postgres
