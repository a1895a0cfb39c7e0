#pragma once
// The harness: enqueues jobs, lets worker processes run them while it kills and stops those, and
// judges by plain SQL what came of it.
//
// Contract:      ends within options.time_limit and a few seconds; no process outlives it.
// Blocking:      for minutes.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "apps/deadman/chaos/report.h"
#include "apps/deadman/chaos/workload.h"
#include "apps/deadman/store_url.h"
#include "deadman/base/result.h"

namespace deadman::chaos {

struct HarnessOptions {
    StoreUrl store;    // not automatic
    std::string queue; // a plain name, for these jobs alone
    Workload workload = Workload::rows;
    Guard guard = Guard::transaction;
    std::vector<std::string> payloads; // JSON objects with "n": 0, 1, 2, ...; one job each
    std::uint64_t seed = 1;
    double kill_rate = 0.4; // lapsed runs of all runs
    int pauses = 0;
    int workers = 3;
    int slots = 4;
    base::Duration lease = std::chrono::seconds(8);
    base::Duration work = std::chrono::milliseconds(10);
    int max_crashes = 3;
    base::Duration time_limit = std::chrono::minutes(10);
    std::string folder;         // for the journal and the log; exists
    std::string worker_program; // this binary
};

struct Progress {
    std::int64_t jobs = 0;
    std::int64_t succeeded = 0;
    std::int64_t lapsed = 0;
    std::int64_t ended_runs = 0;
    std::int64_t kills = 0;
    std::int64_t stopped = 0; // processes, now
    base::Duration elapsed{};
};

/// An error: the harness itself could not do its work. `cancelled`: `stop` was requested.
base::Result<Report> run_harness(const HarnessOptions& options,
                                 const std::function<void(const Progress&)>& on_progress,
                                 const std::stop_token& stop);

} // namespace deadman::chaos
