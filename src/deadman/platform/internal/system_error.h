#pragma once
// What errno says, as an Error.

#include <cerrno>
#include <string>
#include <system_error>

#include "deadman/base/error.h"

namespace deadman::platform::internal {

inline base::ErrorCode system_error_code(int number) {
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return base::ErrorCode::not_found;
    case EEXIST:
        return base::ErrorCode::already_exists;
    case EACCES:
    case EPERM:
    case EINVAL:
    case ENAMETOOLONG:
    case ENOEXEC:
    case ELOOP:
    case E2BIG:
    case EISDIR:
        return base::ErrorCode::invalid_argument;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return base::ErrorCode::exhausted;
    case EAGAIN:
        return base::ErrorCode::unavailable;
    default:
        return base::ErrorCode::internal;
    }
}

/// "<what>: No such file or directory".
inline base::Error system_error(const std::string& what, int number) {
    return base::make_error(system_error_code(number),
                            what + ": " + std::generic_category().message(number));
}

} // namespace deadman::platform::internal
