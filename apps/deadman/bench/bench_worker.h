#pragma once
// A worker of the benchmarks, and the lines in which it tells what happened, times in microseconds
// since 1970:
//
//   READY           it takes work
//   F TIME          the first handler was called
//   S NUMBER TIME   a job of timed_kind or mixed_kind was started for the first time
//   B JOB TIME      a job that had come back, retried or lapsed, was started
//   H COUNT TIME    so many runs have ended for good, every few milliseconds while that grows
//   L JSON          the end: {"ended":..,"rss_kb":..,"n":..,"p50":..,"p95":..,"p99":..,"max":..},
//                   the latter in ms from a payload's time to the start
//
// Blocking:      run_bench_worker() until a stop is requested and it has drained.
// Ownership:     store and clock must outlive it.

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/job_store.h"

namespace deadman::bench {

struct WorkerBrief {
    std::vector<std::string> queues;
    int slots = 0;     // 0: the worker's default
    int prefetch = -1; // -1: the worker's default
    bool tell_starts = false;
    bool tell_returns = false;
    bool upkeep = true;
};

/// One line, without its end. Called from several threads, one at a time.
using Tell = std::function<void(std::string_view)>;

void run_bench_worker(store::JobStore& store, base::Clock& clock, const WorkerBrief& brief,
                      const Tell& tell, std::stop_token stop);

/// The most memory that this process has had, in kB; 0 where the system does not say.
std::int64_t peak_rss_kb();

} // namespace deadman::bench
