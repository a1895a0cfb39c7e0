#pragma once
// Error: a code that names the caller's next move, and a sentence for people.

#include <string>
#include <string_view>
#include <utility>

namespace deadman::base {

enum class ErrorCode {
    invalid_argument, // the request can never succeed: tell whoever made it
    not_found,        // the thing named does not exist
    already_exists,   // a unique name is taken
    conflict,         // the state does not allow it now
    fenced,           // the caller no longer owns what it writes to: stop that work
    unavailable,      // nothing happened: the same call may be repeated
    exhausted,        // a bound is reached: back off
    cancelled,        // the job was cancelled, or the caller asked to stop
    outcome_unknown,  // it may have happened: read back, never repeat blindly
    internal,         // a fault of ours
};

/// The stable lower-case name of a code, as it appears in logs and in the API.
std::string_view error_code_name(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;

    friend bool operator==(const Error&, const Error&) = default;
};

inline Error make_error(ErrorCode code, std::string message) {
    return Error{code, std::move(message)};
}

} // namespace deadman::base
