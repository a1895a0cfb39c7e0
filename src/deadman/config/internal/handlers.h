#pragma once
// [handlers.NAME] tables become HandlerConfig.

#include "deadman/base/result.h"
#include "deadman/config/config.h"
#include "deadman/config/internal/raw_file.h"

namespace deadman::config {

/// Fills config.handlers, and config.shown with what they say.
base::Status take_handlers(const RawFile& file, Config& config);

} // namespace deadman::config
