#pragma once
// Payloads are JSON text carried byte for byte. These functions only look.

#include <string>
#include <string_view>

#include "deadman/base/result.h"

namespace deadman::domain {

struct PayloadLimits {
    std::size_t max_bytes = 1 << 20;
    std::size_t max_depth = 64;
};

/// Accepts what every store and every handler can carry unchanged: valid UTF-8, RFC 8259 JSON,
/// within the limits. Refuses, naming where: NUL in text (raw or \u0000), lone surrogates,
/// duplicate keys, integers beyond 64 bits and numbers beyond a double (they would not survive
/// elsewhere).
base::Status validate_payload(std::string_view json, const PayloadLimits& limits = {});

/// `text` with invalid UTF-8 and NUL replaced by U+FFFD, cut at `max_bytes` on a character border
/// with a marker that says so. For messages and output of handlers: never fails, never blocks an
/// end.
std::string clean_text(std::string_view text, std::size_t max_bytes);

} // namespace deadman::domain
