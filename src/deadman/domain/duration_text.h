#pragma once
// Durations as text, in the domain's own namespace. See deadman/base/duration_text.h.

#include "deadman/base/duration_text.h"

namespace deadman::domain {

using base::format_duration;
using base::longest_duration;
using base::parse_duration;

} // namespace deadman::domain
