#pragma once
// RetryPolicy: how long a failed job waits before its next attempt. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::domain {

struct RetryPolicy {
    enum class Kind { exponential, linear, fixed };

    Kind kind = Kind::exponential;
    base::Duration base = std::chrono::seconds(1);
    base::Duration cap = std::chrono::hours(1);
    double jitter = 0.25; // the delay is stretched by up to this share, never shortened

    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;

    /// The delay after the `attempt`-th attempt failed (1 for the first). `unit` in [0, 1) chooses
    /// within the jitter. Within [d, d * (1 + jitter)] with d = min(cap, growth); never wraps,
    /// whatever the attempt. exponential: base * 2^(attempt-1); linear: base * attempt; fixed:
    /// base.
    base::Duration delay(int attempt, double unit) const;
};

/// Refuses negative times, times past 10,000 years, and a jitter outside [0, 1].
base::Status validate_retry_policy(const RetryPolicy& policy);

/// "exponential:1s:1h:0.25" and its like (kind:base:cap:jitter; later parts may be left out).
base::Result<RetryPolicy> parse_retry_policy(std::string_view text);
std::string format_retry_policy(const RetryPolicy& policy);

} // namespace deadman::domain
