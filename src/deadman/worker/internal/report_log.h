#pragma once
// The reports of a worker as events of the structured log.

#include "deadman/telemetry/log.h"
#include "deadman/worker/worker_action.h"

namespace deadman::worker::internal {

void log_report(telemetry::Log& log, const Report& report);

} // namespace deadman::worker::internal
