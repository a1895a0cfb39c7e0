// Goal: no input crashes the payload checks or hangs them; what is accepted obeys the plainest
// rules; mended text is valid.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deadman/base/check.h"
#include "deadman/base/utf8.h"
#include "deadman/domain/payload.h"

namespace {

void check_payload(std::string_view text) {
    using namespace deadman;
    const domain::PayloadLimits limits{.max_bytes = 1 << 16, .max_depth = 64};
    const auto status = domain::validate_payload(text, limits);
    if (!status) {
        DEADMAN_CHECK(status.error().code == base::ErrorCode::invalid_argument);
        // The reason goes into answers and logs: it must be text itself.
        DEADMAN_CHECK(base::find_invalid_utf8(status.error().message) == std::string_view::npos);
        return;
    }
    DEADMAN_CHECK(!text.empty() && text.size() <= limits.max_bytes);
    DEADMAN_CHECK(base::find_invalid_utf8(text) == std::string_view::npos);
    DEADMAN_CHECK(text.find('\0') == std::string_view::npos);
    DEADMAN_CHECK(text.find("\\u0000") == std::string_view::npos ||
                  text.find("\\\\u0000") != std::string_view::npos);
    // Accepted alone, it is accepted as a part of something larger.
    const std::string wrapped = "[" + std::string(text) + "]";
    DEADMAN_CHECK(
        domain::validate_payload(wrapped, {.max_bytes = 1 << 17, .max_depth = 65}).has_value());
}

void check_mended(std::string_view text, std::size_t limit) {
    using namespace deadman;
    const std::string clean = domain::clean_text(text, limit);
    DEADMAN_CHECK(clean.size() <= limit);
    DEADMAN_CHECK(base::find_invalid_utf8(clean) == std::string_view::npos);
    DEADMAN_CHECK(clean.find('\0') == std::string::npos);
    DEADMAN_CHECK(domain::clean_text(clean, limit) == clean);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_payload(text);
    check_mended(text, size / 2);
    check_mended(text, size * 3);
    return 0;
}
