#include "apps/deadman/chaos/file_hash.h"

#include <fstream>
#include <memory>
#include <vector>

#include <openssl/evp.h>

namespace deadman::chaos {
namespace {

using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

std::string hex(const unsigned char* bytes, unsigned count) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (unsigned index = 0; index < count; ++index) {
        text += digits[bytes[index] >> 4];
        text += digits[bytes[index] & 15];
    }
    return text;
}

} // namespace

base::Result<std::string> sha256_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const Digest digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    if (!file)
        return base::fail(base::ErrorCode::not_found, "cannot open " + path);
    if (!digest || EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr) != 1)
        return base::fail(base::ErrorCode::internal, "no SHA-256 in this OpenSSL");
    std::vector<char> block(64 * 1024);
    while (file) {
        file.read(block.data(), static_cast<std::streamsize>(block.size()));
        EVP_DigestUpdate(digest.get(), block.data(), static_cast<std::size_t>(file.gcount()));
    }
    if (!file.eof())
        return base::fail(base::ErrorCode::unavailable, "cannot read " + path);
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(digest.get(), sum, &size);
    return hex(sum, size);
}

} // namespace deadman::chaos
