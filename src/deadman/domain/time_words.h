#pragma once
// Times as people type them: "tuesday", "yesterday", "-2h", "2026-03-01", "monday..wednesday".
// Pure.
//
// Contract:      the same words on the command line and in the API.
// Units:         `utc_offset` is what the caller's zone is ahead of UTC; words and times that name
// no
//                zone are in that one. Whole microseconds; finer digits are dropped.
// Errors:        invalid_argument, with what is allowed.

#include <optional>
#include <string>
#include <string_view>

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::domain {

/// from <= time < until; a bound that is not there is open.
struct TimeRange {
    std::optional<base::TimePoint> from;
    std::optional<base::TimePoint> until;

    friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

/// What a word or a range covers.
///
///   today, yesterday, tomorrow, 2026-03-01, 2026-03, 2026       that day, month, year
///   tuesday, tue                    the latest such day that has begun: today counts
///   last tuesday, last-tuesday      the latest such day before today
///   2026-03-01T09:30                that minute (or second, or microsecond, as precise as it is)
///   -2h, 2h ago, -90s, now          from then on
///   A..B, A.., ..B                  from the beginning of A; days, months and years at the end are
///                                   included, times of day are not
///
/// Times before 1970 count as 1970; an empty range is refused.
base::Result<TimeRange> parse_time_range(std::string_view text, base::TimePoint now,
                                         base::Duration utc_offset);

/// When a job is to run: the instant at which a word's period begins, also "+2h" and "in 2h".
/// Weekdays look forward: "tuesday" is the next one that has not begun. What can only be meant for
/// the past (yesterday, -2h, a date that has begun) is refused; a time of day that is over is not,
/// since a program may have been late.
base::Result<base::TimePoint> parse_due_time(std::string_view text, base::TimePoint now,
                                             base::Duration utc_offset);

/// RFC 3339, whole and with its zone: "2026-03-01T09:30:00.5Z", "2026-03-01T09:30:00+02:00".
base::Result<base::TimePoint> parse_rfc3339(std::string_view text);

/// "Z", "+02:00", "-0330", "+2": how far ahead of UTC, within 18 hours.
base::Result<base::Duration> parse_utc_offset(std::string_view text);

/// As text that parse_time_range reads back to the same range, whatever the time and zone are.
/// REQUIRES: one bound at least.
std::string format_time_range(const TimeRange& range);

} // namespace deadman::domain
