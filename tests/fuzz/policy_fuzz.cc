// Goal: durations and retry policies read from any text stay within their bounds, print what reads
// back as the same, and never give a delay that wraps.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "deadman/base/check.h"
#include "deadman/domain/duration_text.h"
#include "deadman/domain/retry_policy.h"

namespace {

using namespace deadman;

void check_duration(std::string_view text) {
    const auto duration = domain::parse_duration(text);
    if (!duration)
        return;
    DEADMAN_CHECK(*duration >= base::Duration::zero() && *duration <= domain::longest_duration);
    DEADMAN_CHECK(domain::parse_duration(domain::format_duration(*duration)).value() == *duration);
}

void check_policy(std::string_view text) {
    const auto policy = domain::parse_retry_policy(text);
    if (!policy)
        return;
    DEADMAN_CHECK(domain::validate_retry_policy(*policy).has_value());
    DEADMAN_CHECK(domain::parse_retry_policy(domain::format_retry_policy(*policy)).value() ==
                  *policy);
    base::Duration before = base::Duration::zero();
    for (const int attempt : {1, 2, 3, 10, 62, 63, 64, 70, 300, 900, 2'147'483'647}) {
        const base::Duration least = policy->delay(attempt, 0);
        const base::Duration most = policy->delay(attempt, 0.9999999999999999);
        DEADMAN_CHECK(least >= before && least <= policy->cap && most >= least);
        DEADMAN_CHECK(most - least <= least);
        before = least;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_duration(text);
    check_policy(text);
    return 0;
}
