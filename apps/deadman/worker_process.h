#pragma once
// WorkerProcess: a worker as a process: its handlers and upkeep, and signals that make it leave.
//
// Contract:      the first SIGTERM or SIGINT drains, a second forces.
// Blocking:      run() until the worker has drained.

#include <string>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/config/config.h"
#include "deadman/store/job_store.h"
#include "deadman/store/maintenance.h"
#include "deadman/telemetry/log.h"
#include "deadman/worker/worker_options.h"

namespace deadman::cli {

/// invalid_argument: lease terms under which live workers could be reaped.
base::Result<worker::WorkerOptions> worker_options(const config::Config& config);
store::UpkeepRequest upkeep_request(const config::Config& config);

/// Opens the store of the configuration, with its folder and schema made if need be.
base::Result<std::unique_ptr<store::JobStore>> open_configured_store(const config::Config& config,
                                                                     base::Clock& clock);

/// Ends this process, which could not leave in time, with exit_software.
void leave_at_once();

/// Until it has drained. Prints one line on standard output once it is ready for work.
base::Status run_worker_process(const config::Config& config, base::Clock& clock);

} // namespace deadman::cli
