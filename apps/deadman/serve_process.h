#pragma once
// ServeProcess: the whole system in one process: store, API, worker, upkeep.
//
// Contract:      the first SIGTERM or SIGINT drains: /readyz says no, runs may end, then the port
// is
//                closed. A second one forces. The store may go away and come back meanwhile.
// Blocking:      run_serve_process() until it has drained.

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/config/config.h"

namespace deadman::cli {

struct ServeOptions {
    bool with_worker = true;
};

/// What serve ends with before it serves: invalid_argument is the command line's or the
/// configuration's fault.
base::Status run_serve_process(const config::Config& config, const ServeOptions& options,
                               base::Clock& clock);

} // namespace deadman::cli
