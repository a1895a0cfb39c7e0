#pragma once
// What a job is: what an enqueue names, and the bounds on it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/domain/ids.h"
#include "deadman/domain/job_state.h"
#include "deadman/domain/retry_policy.h"

namespace deadman::domain {

inline constexpr int default_max_attempts = 20;
inline constexpr int default_priority = 5; // 0 to 9, lower first
inline constexpr int max_priority = 9;
inline constexpr std::string_view default_queue = "default";
inline constexpr base::Duration default_timeout = std::chrono::minutes(5);
inline constexpr base::Duration default_retention = std::chrono::hours(24 * 14);
inline constexpr base::Duration idempotency_key_life = std::chrono::hours(24);
inline constexpr std::size_t default_max_payload_bytes = 1 << 20;
// What a store keeps of a run at most, whatever handlers were allowed: JSON needs up to six bytes
// for one of a command's output.
inline constexpr std::size_t largest_output_bytes = 2 << 20;
inline constexpr std::size_t largest_message_bytes = 4 << 20;
inline constexpr std::size_t largest_result_bytes = 16 << 20;
inline constexpr int max_attempts_bound = 32'000;
inline constexpr std::size_t max_name_bytes = 200;

/// What an enqueue names.
struct JobSpec {
    std::string kind;
    std::string payload = "{}"; // UTF-8 JSON text, carried byte for byte
    std::string queue{default_queue};
    int priority = default_priority;
    std::optional<base::TimePoint> due;  // absolute; at most one of due and delay
    std::optional<base::Duration> delay; // from the store's now
    int max_attempts = default_max_attempts;
    RetryPolicy retry;
    base::Duration timeout = default_timeout; // of one run; zero: none
    bool transactional = false; // may end inside the app's own transaction: gets a lease of its own
    std::string unique_key;     // at most one unfinished job per key; empty: none
    std::string idempotency_key;   // a repeated enqueue gives the first one's job; empty: none
    std::string idempotency_scope; // part of what makes a request the same: a batch binds its
                                   // items to each other by it; not stored

    friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

/// Checks everything but the payload: names, bounds, that due and delay do not both stand.
/// kind: [a-z0-9] then [a-z0-9_.:/-], 1 to 200 bytes, ASCII letters of either case; queue likewise.
/// Times past the year 9999 are refused.
base::Status validate_spec(const JobSpec& spec);

/// The same rule as for a spec's queue.
base::Status validate_queue_name(std::string_view name);

/// A hash of everything that makes two enqueues "the same request" under one idempotency key:
/// the spec's fields, with the payload compared as bytes. Lower-case hex.
std::string fingerprint(const JobSpec& spec);

inline constexpr base::TimePoint latest_time{base::Duration{253'402'300'799'999'999}}; // 9999-12-31

} // namespace deadman::domain
