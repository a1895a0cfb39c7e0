#include "deadman/store/postgres/internal/failure.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <pqxx/pqxx>

namespace deadman::store::postgres {

using base::ErrorCode;

namespace {

struct Row {
    std::string_view sqlstate; // whole, or the class: its first two characters
    ErrorCode code;
    Remedy remedy = Remedy::none;
};

// Whole codes before classes.
constexpr std::array rows{
    Row{"DM001", ErrorCode::fenced},
    Row{"DM002", ErrorCode::conflict, Remedy::own_lease},
    Row{"DM003", ErrorCode::cancelled},
    Row{"DM004", ErrorCode::conflict},
    Row{"DM005", ErrorCode::unavailable, Remedy::raise_fence},
    Row{"DM404", ErrorCode::not_found},
    Row{"0A000", ErrorCode::internal, Remedy::reconnect}, // a cached plan met a new schema
    Row{"26000", ErrorCode::internal,
        Remedy::reconnect}, // a pooler gave us another server connection
    Row{"23505", ErrorCode::already_exists},
    Row{"23514", ErrorCode::unavailable, Remedy::make_partitions},
    Row{"25006", ErrorCode::unavailable}, // a standby: it takes no writes (yet)
    Row{"3D000", ErrorCode::invalid_argument},
    Row{"3F000", ErrorCode::conflict}, // no schema: not migrated
    Row{"42P01", ErrorCode::conflict},
    Row{"42883", ErrorCode::conflict},
    Row{"42501", ErrorCode::invalid_argument},
    Row{"53100", ErrorCode::exhausted}, // disk full
    Row{"53200", ErrorCode::exhausted},
    Row{"53300", ErrorCode::unavailable}, // too many connections
    Row{"54000", ErrorCode::invalid_argument},
    Row{"54001", ErrorCode::invalid_argument},
    Row{"55000", ErrorCode::unavailable}, // in recovery: it may be promoted
    Row{"55P03", ErrorCode::unavailable}, // a lock was not to be had in time
    Row{"57014", ErrorCode::unavailable}, // cancelled by a timeout: rolled back
    Row{"57P03", ErrorCode::unavailable}, // starting up
    Row{"22", ErrorCode::invalid_argument},
    Row{"23", ErrorCode::conflict},
    Row{"28", ErrorCode::invalid_argument},
    Row{"40", ErrorCode::unavailable, Remedy::repeat},
    Row{"53", ErrorCode::exhausted},
};

constexpr std::array lost_connection_states{std::string_view("08"), std::string_view("25P03"),
                                            std::string_view("57P01"), std::string_view("57P02"),
                                            std::string_view("57P05")};

// Of the server's conditions, those that any statement may meet.
constexpr std::array troubles{std::string_view("40"), std::string_view("53"),
                              std::string_view("57P"), std::string_view("25006")};

/// The server's own sentence, without what the driver puts round it.
std::string sentence_of(std::string_view text) {
    constexpr std::string_view marks[] = {"ERROR:  ", "FATAL:  "};
    for (const std::string_view mark : marks)
        if (const std::size_t at = text.find(mark); at != std::string_view::npos)
            text.remove_prefix(at + mark.size());
    while (text.starts_with('\n'))
        text.remove_prefix(1);
    return std::string(text.substr(0, text.find('\n')));
}

Failure lost(std::string message, Sent sent) {
    Failure failure{{ErrorCode::unavailable, std::move(message)}, Remedy::none, true};
    if (sent == Sent::deciding)
        failure.error.code = ErrorCode::outcome_unknown;
    else if (sent == Sent::reading)
        failure.remedy = Remedy::reconnect;
    return failure;
}

} // namespace

Failure translate_sqlstate(std::string_view sqlstate, std::string message, Sent sent) {
    if (sqlstate == "40003")
        return lost(std::move(message), sent);
    if (std::ranges::any_of(lost_connection_states,
                            [&](std::string_view state) { return sqlstate.starts_with(state); }))
        return lost(std::move(message), sent);
    for (const Row& row : rows)
        if (sqlstate.starts_with(row.sqlstate))
            return {{row.code, std::move(message)}, row.remedy, row.remedy == Remedy::reconnect};
    return {{ErrorCode::internal, std::move(message)}, Remedy::none, false};
}

Failure translate_failure(const std::exception& exception, Sent sent) {
    std::string message = sentence_of(exception.what());
    if (dynamic_cast<const pqxx::in_doubt_error*>(&exception) != nullptr)
        return {{ErrorCode::outcome_unknown, std::move(message)}, Remedy::none, true};
    if (dynamic_cast<const pqxx::statement_completion_unknown*>(&exception) != nullptr)
        return lost(std::move(message), sent);
    if (const auto* error = dynamic_cast<const pqxx::sql_error*>(&exception)) {
        if (error->sqlstate().empty()) // the connection went away under the statement
            return lost(std::move(message), sent);
        return translate_sqlstate(error->sqlstate(), std::move(message), sent);
    }
    if (dynamic_cast<const pqxx::broken_connection*>(&exception) != nullptr)
        return lost(std::move(message), sent);
    return {{ErrorCode::internal, std::move(message)}, Remedy::none, true};
}

base::Error translate_effect_failure(const std::exception& exception) {
    Failure failure = translate_failure(exception, Sent::writing);
    const auto* error = dynamic_cast<const pqxx::sql_error*>(&exception);
    if (error == nullptr || failure.connection_lost)
        return std::move(failure.error);
    const std::string_view sqlstate = error->sqlstate();
    if (sqlstate.starts_with("42"))
        failure.error.code = ErrorCode::invalid_argument;
    // What only the handler's own statement can be the reason of must not pass for the store's
    // trouble, which spends no attempt: it would come back for ever.
    const bool is_trouble =
        failure.error.code == ErrorCode::unavailable || failure.error.code == ErrorCode::exhausted;
    if (is_trouble && !std::ranges::any_of(troubles, [&](std::string_view state) {
            return sqlstate.starts_with(state);
        }))
        failure.error.code = ErrorCode::conflict;
    return std::move(failure.error);
}

} // namespace deadman::store::postgres
