#include "deadman/base/error.h"

namespace deadman::base {

std::string_view error_code_name(ErrorCode code) {
    switch (code) {
    case ErrorCode::invalid_argument:
        return "invalid_argument";
    case ErrorCode::not_found:
        return "not_found";
    case ErrorCode::already_exists:
        return "already_exists";
    case ErrorCode::conflict:
        return "conflict";
    case ErrorCode::fenced:
        return "fenced";
    case ErrorCode::unavailable:
        return "unavailable";
    case ErrorCode::exhausted:
        return "exhausted";
    case ErrorCode::cancelled:
        return "cancelled";
    case ErrorCode::outcome_unknown:
        return "outcome_unknown";
    case ErrorCode::internal:
        return "internal";
    }
    return "internal";
}

} // namespace deadman::base
