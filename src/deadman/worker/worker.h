#pragma once
// Worker: claims jobs from a store and runs their handlers, with threads around a WorkerCore.
//
// Contract:      run() returns once everything claimed has ended or been handed back. Heartbeats
// have a
//                thread of their own, which nothing delays: not a handler, not a slow claim.
// Thread-safety: run() once; drain() and force() from any thread, at any time (not from a signal
//                handler: see platform/signals.h).
// Blocking:      run() until the worker has drained.
// Ownership:     store, clock, log and observer must outlive the worker.
// Errors:        calls that fail are tried again with backoff for as long as it takes, and logged.
// Source:        DECISIONS 023.

#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"
#include "deadman/telemetry/log.h"
#include "deadman/worker/handler.h"
#include "deadman/worker/worker_observer.h"
#include "deadman/worker/worker_options.h"

namespace deadman::worker {

namespace internal {
class WorkerShell;
}

struct WorkerSurroundings {
    store::JobStore& store;
    base::Clock& clock;
    telemetry::Log* log = nullptr;
    WorkerObserver* observer = nullptr;

    /// A handler cannot be stopped and its lease is over: end the process at once, without clean-up
    /// that might wait for it. Default: std::_Exit(70).
    std::function<void(std::string_view why)> leave_process;
};

class Worker {
  public:
    /// `options.kinds` are filled in from the registry.
    Worker(WorkerOptions options, HandlerRegistry handlers, WorkerSurroundings surroundings);
    ~Worker();

    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// A stop request drains.
    void run(std::stop_token stop = {});

    /// No new work; what runs may end by itself within the drain's grace.
    void drain();

    /// Stop what runs, hand it back, return within the force bound.
    void force();

  private:
    std::unique_ptr<internal::WorkerShell> shell_;
};

} // namespace deadman::worker
