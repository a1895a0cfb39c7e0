#pragma once
// What `deadman` exits with: part of its interface, for scripts.

#include "deadman/base/error.h"

namespace deadman {

enum ExitCode : int {
    exit_ok = 0,
    exit_error = 1,
    exit_usage = 2, // the command line, or what it names, can never be right
    exit_not_found = 3,
    exit_conflict = 4, // the state of things does not allow it now
    exit_unauthorised = 5,
    exit_job_failed = 6, // the job that was waited for did not succeed
    exit_timeout = 7,
    exit_unavailable = 69, // nobody answers: no server, no store
    exit_software = 70,    // told to leave, it could not: a handler or the store holds it
    exit_interrupted = 130,
};

inline ExitCode exit_code_of(base::ErrorCode code) {
    switch (code) {
    case base::ErrorCode::invalid_argument:
        return exit_usage;
    case base::ErrorCode::not_found:
        return exit_not_found;
    case base::ErrorCode::already_exists:
    case base::ErrorCode::conflict:
        return exit_conflict;
    case base::ErrorCode::unavailable:
        return exit_unavailable;
    case base::ErrorCode::cancelled:
        return exit_interrupted;
    case base::ErrorCode::fenced:
    case base::ErrorCode::exhausted:
    case base::ErrorCode::outcome_unknown:
    case base::ErrorCode::internal:
        break;
    }
    return exit_error;
}

} // namespace deadman
