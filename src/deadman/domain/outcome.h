#pragma once
// How a run ends. The handler's answer is an Answer; what the store makes of it is an Outcome.

#include <optional>
#include <string>
#include <string_view>

#include "deadman/base/time.h"
#include "deadman/domain/ids.h"

namespace deadman::domain {

/// What the worker says of a run.
enum class AnswerKind {
    succeeded,
    error,     // spends the attempt; the store decides between retry and failed
    failed,    // spends the attempt; no retry
    snooze,    // again after `delay`; spends nothing
    release,   // handed back; spends nothing
    cancelled, // the worker stopped it because a cancel was asked for
};

struct Answer {
    AnswerKind kind = AnswerKind::succeeded;
    std::string result;  // JSON text or empty; succeeded only
    std::string reason;  // error, failed, release: a stable short name ("timeout", "unknown_kind")
    std::string message; // for people; any text, made valid UTF-8 before it is stored
    base::Duration delay{}; // error: the backoff, snooze: the wait

    friend bool operator==(const Answer&, const Answer&) = default;
};

/// What stands in the record of a run.
enum class Outcome { running, succeeded, failed, cancelled, retry, snooze, release, lapse };

std::string_view outcome_name(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view name);

/// What the store makes of an answer. REQUIRES: attempts_spent counts those before this run.
/// An accepted cancel wins over every answer.
Outcome decide(const Answer& answer, int attempts_spent, int max_attempts, bool cancel_requested);

/// Attempts spent once a run with this outcome has ended: error, failed, succeeded spend one.
int spent_after(const Answer& answer, Outcome outcome, int attempts_spent);

inline constexpr std::string_view reason_timeout = "timeout";
inline constexpr std::string_view reason_unknown_kind = "unknown_kind";
inline constexpr std::string_view reason_quarantined = "quarantined";
inline constexpr std::string_view reason_drain = "drain";
inline constexpr std::string_view reason_error = "error";

/// The store's verdict on one ended run.
enum class Verdict {
    ok,
    cancelled, // an accepted cancel won: the job is cancelled whatever the answer was
    repeat,    // this very run had already ended with this session: an earlier try got through
    busy,      // a transaction holds the run's lease: ask again
    fenced,    // not this session's run any more: nothing was written
};

std::string_view verdict_name(Verdict verdict);

} // namespace deadman::domain
