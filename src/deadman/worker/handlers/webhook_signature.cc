#include "deadman/worker/handlers/webhook_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace deadman::worker {
namespace {

constexpr std::string_view prefix = "whsec_";

std::string encode_base64(const unsigned char* bytes, std::size_t count) {
    std::string text(4 * ((count + 2) / 3) + 1, '\0');
    const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes,
                                       static_cast<int>(count));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

std::string decode_base64(std::string_view text) {
    if (text.empty() || text.size() % 4 != 0)
        return {};
    std::string bytes(text.size() / 4 * 3, '\0');
    const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
    if (length < 0)
        return {};
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
    bytes.resize(static_cast<std::size_t>(length) - padding);
    return bytes;
}

} // namespace

base::Result<std::string> parse_webhook_secret(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.remove_suffix(1);
    if (text.starts_with(prefix))
        text.remove_prefix(prefix.size());
    std::string secret = decode_base64(text);
    if (secret.size() < 16 || secret.size() > 64)
        return base::fail(base::ErrorCode::invalid_argument,
                          "a webhook secret is 'whsec_' and 16 to 64 bytes in base64");
    return secret;
}

std::string sign_webhook(std::string_view secret, std::string_view id, std::int64_t timestamp,
                         std::string_view body) {
    std::string signed_text(id);
    signed_text += '.';
    signed_text += std::to_string(timestamp);
    signed_text += '.';
    signed_text += body;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int length = 0;
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), digest,
         &length);
    return "v1," + encode_base64(digest, length);
}

} // namespace deadman::worker
