#pragma once
// Parts: what a benchmark does in processes of its own, all of them this binary: `deadman
// bench-part work|enqueue|server`, hidden. How they are called, and what they do.

#include <string>
#include <vector>

#include "apps/deadman/bench/bench_worker.h"
#include "apps/deadman/bench/enqueue_load.h"
#include "deadman/base/result.h"
#include "deadman/platform/process.h"
#include "deadman/wiring/store_url.h"

namespace deadman::bench {

/// Arguments of `bench-part`. The worker tells into `file`; "-": standard output.
std::vector<std::string> worker_arguments(const wiring::StoreUrl& store, const WorkerBrief& brief,
                                          const std::string& file);
std::vector<std::string> enqueue_arguments(const wiring::StoreUrl& store, const EnqueueLoad& load,
                                           base::TimePoint start_at);

/// Its input is a pipe: once that is closed the part leaves.
base::Result<platform::ChildProcess> spawn_part(const std::vector<std::string>& arguments,
                                                bool read_output = false);

/// Works until its input ends.
base::Status run_worker_part(const std::string& store, const WorkerBrief& brief,
                             const std::string& file);

/// Prints "R {"n":..,"secs":..,"from_us":..,"to_us":..,"calls_us":[..]}".
base::Status run_enqueue_part(const std::string& store, const EnqueueLoad& load,
                              std::int64_t start_at_us);
base::Result<EnqueueTimes> read_enqueue_times(std::string_view output);

/// A Postgres server with the settings of the benchmarks, until its input ends. Prints its URL.
base::Status run_server_part();

} // namespace deadman::bench
