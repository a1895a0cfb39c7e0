#include "deadman/domain/retry_policy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "deadman/domain/duration_text.h"

namespace deadman::domain {
namespace {

using base::Duration;
using base::ErrorCode;

constexpr std::array<std::pair<RetryPolicy::Kind, std::string_view>, 3> kind_names{{
    {RetryPolicy::Kind::exponential, "exponential"},
    {RetryPolicy::Kind::linear, "linear"},
    {RetryPolicy::Kind::fixed, "fixed"},
}};

/// `base` grown for the attempt, at most `cap`. Each bound is tested before the step that would
/// pass it, so that no intermediate value wraps.
Duration grow(RetryPolicy::Kind kind, Duration base, Duration cap, int attempt) {
    if (base >= cap)
        return cap;
    switch (kind) {
    case RetryPolicy::Kind::fixed:
        return base;
    case RetryPolicy::Kind::linear:
        return base > cap / attempt ? cap : base * attempt;
    case RetryPolicy::Kind::exponential:
        break;
    }
    if (base == Duration::zero())
        return base;
    Duration grown = base;
    for (int step = 1; step < attempt; ++step) {
        if (grown > cap / 2)
            return cap;
        grown *= 2;
    }
    return grown;
}

/// How much jitter adds: whole microseconds, and no more than what is left below the largest value.
Duration stretch(Duration delay, double share) {
    const double extra = std::floor(static_cast<double>(delay.count()) * share);
    const Duration room = Duration::max() - delay;
    if (!(extra > 0))
        return Duration::zero();
    if (extra >= static_cast<double>(room.count()))
        return room;
    return Duration{static_cast<Duration::rep>(extra)};
}

double clamp_share(double value, double most) {
    return std::isnan(value) ? 0.0 : std::clamp(value, 0.0, most);
}

std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t colon = text.find(':');
        parts.push_back(text.substr(0, colon));
        if (colon == std::string_view::npos)
            return parts;
        text.remove_prefix(colon + 1);
    }
}

base::Result<RetryPolicy::Kind> parse_kind(std::string_view text) {
    for (const auto& [kind, name] : kind_names)
        if (name == text)
            return kind;
    return base::fail(ErrorCode::invalid_argument, "retry policy: '" +
                                                       std::string(text.substr(0, 40)) +
                                                       "' is none of exponential, linear, fixed");
}

base::Result<double> parse_jitter(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size())
        return base::fail(ErrorCode::invalid_argument, "retry policy: jitter '" +
                                                           std::string(text.substr(0, 40)) +
                                                           "' is no number");
    return value;
}

std::string_view kind_name(RetryPolicy::Kind kind) {
    for (const auto& [value, name] : kind_names)
        if (value == kind)
            return name;
    return "exponential";
}

base::Status check_time(std::string_view name, Duration value) {
    if (value < Duration::zero() || value > longest_duration)
        return base::fail(ErrorCode::invalid_argument, "retry policy: " + std::string(name) +
                                                           " must lie between 0 and 10,000 years");
    return {};
}

} // namespace

Duration RetryPolicy::delay(int attempt, double unit) const {
    const Duration least = Duration::zero();
    const Duration capped =
        grow(kind, std::max(base, least), std::max(cap, least), std::max(attempt, 1));
    return capped + stretch(capped, clamp_share(jitter, 1e9) * clamp_share(unit, 1.0));
}

base::Status validate_retry_policy(const RetryPolicy& policy) {
    DEADMAN_TRY_STATUS(check_time("base", policy.base));
    DEADMAN_TRY_STATUS(check_time("cap", policy.cap));
    if (!(policy.jitter >= 0 && policy.jitter <= 1))
        return base::fail(ErrorCode::invalid_argument,
                          "retry policy: jitter must lie between 0 and 1");
    return {};
}

base::Result<RetryPolicy> parse_retry_policy(std::string_view text) {
    const std::vector<std::string_view> parts = split(text);
    if (parts.size() > 4)
        return base::fail(ErrorCode::invalid_argument,
                          "retry policy: more than kind:base:cap:jitter");
    RetryPolicy policy;
    DEADMAN_TRY(policy.kind, parse_kind(parts[0]));
    if (parts.size() > 1) {
        DEADMAN_TRY(policy.base, parse_duration(parts[1]));
    }
    if (parts.size() > 2) {
        DEADMAN_TRY(policy.cap, parse_duration(parts[2]));
    }
    if (parts.size() > 3) {
        DEADMAN_TRY(policy.jitter, parse_jitter(parts[3]));
    }
    DEADMAN_TRY_STATUS(validate_retry_policy(policy));
    return policy;
}

std::string format_retry_policy(const RetryPolicy& policy) {
    std::array<char, 32> digits{};
    const auto [end, error] =
        std::to_chars(digits.data(), digits.data() + digits.size(), policy.jitter);
    return std::string(kind_name(policy.kind)) + ":" + format_duration(policy.base) + ":" +
           format_duration(policy.cap) + ":" +
           (error == std::errc{} ? std::string(digits.data(), end) : "0");
}

} // namespace deadman::domain
