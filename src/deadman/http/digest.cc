#include "deadman/http/internal/digest.h"

#include <array>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "deadman/base/check.h"

namespace deadman::http {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

} // namespace

std::string sha256(std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    DEADMAN_CHECK(
        EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
    return {digest.begin(), digest.begin() + length};
}

std::string sha256_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const char c : sha256(bytes)) {
        const auto byte = static_cast<unsigned char>(c);
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

std::string keyed_sha256(std::string_view key, std::string_view bytes) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    DEADMAN_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                       digest.data(), &length) != nullptr);
    return {digest.begin(), digest.begin() + length};
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    const std::string left = sha256(a);
    const std::string right = sha256(b);
    return CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

std::string to_base64url(std::string_view bytes) {
    std::string text;
    unsigned int bits = 0;
    int waiting = 0;
    for (const char c : bytes) {
        bits = (bits << 8U) | static_cast<unsigned char>(c);
        for (waiting += 8; waiting >= 6; waiting -= 6)
            text += alphabet[(bits >> (waiting - 6)) & 63U];
    }
    if (waiting > 0)
        text += alphabet[(bits << (6 - waiting)) & 63U];
    return text;
}

std::string from_base64url(std::string_view text) {
    std::string bytes;
    unsigned int bits = 0;
    int waiting = 0;
    for (const char c : text) {
        const std::size_t value = alphabet.find(c);
        if (value == std::string_view::npos)
            return {};
        bits = (bits << 6U) | static_cast<unsigned int>(value);
        waiting += 6;
        if (waiting >= 8) {
            waiting -= 8;
            bytes += static_cast<char>((bits >> waiting) & 255U);
        }
    }
    const bool clean = waiting < 6 && (bits & ((1U << waiting) - 1U)) == 0;
    return clean ? bytes : std::string();
}

} // namespace deadman::http
