#pragma once
// [handlers.NAME] tables become HandlerConfig.

#include "deadman/config/config.h"
#include "deadman/config/internal/raw_file.h"
#include "deadman/config/internal/refusals.h"

namespace deadman::config {

/// Fills config.handlers, and config.shown with what they say.
void take_handlers(const RawFile& file, Config& config, Refusals& refusals);

} // namespace deadman::config
