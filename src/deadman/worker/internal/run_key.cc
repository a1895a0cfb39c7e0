#include "deadman/worker/internal/run_key.h"

#include <array>

#include <openssl/evp.h>

#include "deadman/base/check.h"

namespace deadman::worker::internal {

std::string run_key(const store::SessionKey& session, const store::RunKey& run) {
    const std::string text =
        session.key + ":" + std::to_string(run.job.value) + ":" + std::to_string(run.fence.value);
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    DEADMAN_CHECK(
        EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha256(), nullptr) == 1);
    constexpr std::string_view digits = "0123456789abcdef";
    std::string key;
    for (unsigned int i = 0; i < length; ++i) {
        key += digits[digest[i] >> 4U];
        key += digits[digest[i] & 15U];
    }
    return key;
}

} // namespace deadman::worker::internal
