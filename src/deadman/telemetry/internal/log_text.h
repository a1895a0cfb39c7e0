#pragma once
// How values of log fields become text.

#include <string>

#include "deadman/telemetry/log.h"

namespace deadman::telemetry {

/// Plain, not escaped.
std::string value_text(const FieldValue& value);

} // namespace deadman::telemetry
