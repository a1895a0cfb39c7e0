#pragma once
// Signatures of HTTP requests, by the Standard Webhooks convention. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "deadman/base/result.h"

namespace deadman::worker {

/// The bytes of a secret "whsec_" + base64, 16 to 64 of them; the prefix may be left out.
base::Result<std::string> parse_webhook_secret(std::string_view text);

/// "v1," + base64 of HMAC-SHA256 over "id.timestamp.body".
std::string sign_webhook(std::string_view secret, std::string_view id, std::int64_t timestamp,
                         std::string_view body);

} // namespace deadman::worker
