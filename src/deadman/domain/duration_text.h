#pragma once
// Durations as people and the API write them: "90s", "1500ms", "5m", "2h30m", "14d". Pure.

#include <string>
#include <string_view>

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::domain {

/// Refuses negative values, unknown units, NaN, and anything past 10,000 years.
base::Result<base::Duration> parse_duration(std::string_view text);

/// The shortest exact form.
std::string format_duration(base::Duration duration);

} // namespace deadman::domain
