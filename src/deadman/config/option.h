#pragma once
// Option: everything about one setting, said once. Flags, help, the sample file, the reference in
// docs/ and the checks all come from this table.
//
// Thread-safety: constant data.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace deadman::config {

enum class OptionType {
    text,
    path,
    address, // host:port
    choice,  // one of `choices`
    boolean,
    integer,
    bytes,    // 1048576 or "1MiB"
    duration, // "8s"
    list,     // of texts; in flags and the environment separated by commas
    table,    // of texts by name
};

struct Option {
    std::string_view section; // "" at the top; "exec", "http", "sql" for the keys of a handler
    std::string_view name;
    std::string_view flag; // without its dashes; empty: none, nor a variable of the environment
    OptionType type = OptionType::text;
    std::string_view sentence;
    std::string_view fallback; // the default; "(in words)" where it is worked out
    std::string_view example;  // what the sample file shows where the default is no value
    std::int64_t least = 0;    // of integer, bytes and duration (microseconds)
    std::int64_t most = 0;
    std::string_view choices{}; // "json|console"
    bool required = false;      // handlers only
    bool needs_restart = true;
};

/// All settings, in the order of the sample file.
std::span<const Option> options();

/// The keys of a `[handlers.NAME]` table beside `type`; empty where there is no such type.
std::span<const Option> handler_options(std::string_view type);

/// "lease.heartbeat"
std::string key_of(const Option& option);

/// "DEADMAN_HEARTBEAT"
std::string variable_of(const Option& option);

/// What values are allowed, for people: "a whole number from 1 to 4096".
std::string allowed(const Option& option);

} // namespace deadman::config
