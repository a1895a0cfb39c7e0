#pragma once
// WorkerObserver: what tests, the chaos harness and counters may see of a worker, moment by moment.
//
// Thread-safety: called from many threads at once. on_start and before_answer run on the handler's
//                thread and may take their time (or end the process); the others on a thread of
//                their own, in order.

#include "deadman/domain/outcome.h"
#include "deadman/store/job_types.h"
#include "deadman/worker/worker_action.h"

namespace deadman::worker {

class WorkerObserver {
  public:
    virtual ~WorkerObserver() = default;

    /// The handler is about to be called.
    virtual void on_start(const store::Claimed& /*claimed*/) {}

    /// The handler has answered (`transaction`: with its end already committed, or unknown);
    /// nothing of it has been sent by the worker.
    virtual void before_answer(const store::Claimed& /*claimed*/,
                               const domain::Answer& /*answer*/) {}

    /// The store has recorded the run's end. report.verdict: ok, cancelled or repeat.
    virtual void on_finish(const Report& /*report*/) {}

    /// The run was not this worker's any more; nothing was written. report.detail says why.
    virtual void on_lease_lost(const Report& /*report*/) {}

    /// Everything else, and those two as well.
    virtual void on_report(const Report& /*report*/) {}
};

} // namespace deadman::worker
