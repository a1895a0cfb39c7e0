#pragma once
// SHA-256, its keyed form, and texts compared without telling by the time taken where they differ.

#include <string>
#include <string_view>

namespace deadman::http {

/// 32 bytes.
std::string sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

/// HMAC-SHA256, 32 bytes.
std::string keyed_sha256(std::string_view key, std::string_view bytes);

/// In the same time whatever they hold, and whatever their lengths are.
bool equal_in_constant_time(std::string_view a, std::string_view b);

std::string to_base64url(std::string_view bytes);

/// Empty where `text` is not base64url without padding.
std::string from_base64url(std::string_view text);

} // namespace deadman::http
