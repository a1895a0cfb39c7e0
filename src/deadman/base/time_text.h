#pragma once
// Times as logs and the API write them: RFC 3339, UTC, microseconds.

#include <string>

#include "deadman/base/time.h"

namespace deadman::base {

/// "2026-03-01T09:30:00.000123Z"
std::string format_rfc3339(TimePoint time);

} // namespace deadman::base
