#pragma once
// Durations as people and the API write them: "90s", "1500ms", "5m", "2h30m", "14d". Pure.

#include <string>
#include <string_view>

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::base {

/// 10,000 Gregorian years: the longest duration that is accepted anywhere.
inline constexpr Duration longest_duration = std::chrono::hours(24) * 3'652'425;

/// Units d, h, m, s, ms, us, each at most once and from the largest down; a fraction ("1.5s") where
/// it is a whole number of microseconds; "0" needs no unit. Refuses negative values, unknown units,
/// NaN, and anything past 10,000 years.
Result<Duration> parse_duration(std::string_view text);

/// The shortest exact form.
std::string format_duration(Duration duration);

} // namespace deadman::base
