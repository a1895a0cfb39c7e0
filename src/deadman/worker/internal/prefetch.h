#pragma once
// Prefetch: how many claimed runs may wait for a slot. As many as the slots get through in a short
// time, so that short jobs are claimed by the hundred and long ones are left to other workers.
//
// Contract:      at least the given number, always; exactly that where it was chosen by hand. Never
//                more than two claims, nor more than a bounded number of bytes of payload.
// Thread-safety: external synchronization. Pure.
// Source:        DECISIONS 040.

#include <cstddef>

#include "deadman/base/time.h"
#include "deadman/worker/worker_options.h"

namespace deadman::worker::internal {

class Prefetch {
  public:
    explicit Prefetch(const WorkerOptions& options);

    void ran(base::Duration time);
    void claimed(std::size_t payload_bytes);

    /// `under_way`: how long every slot has been at its run by now: a slower kind of job shows
    /// before its first run has ended.
    std::size_t runs(base::Duration under_way) const;

    bool tunes_itself() const {
        return ahead_ > base::Duration::zero();
    }

  private:
    const std::size_t least_;
    const std::size_t most_;
    const double slots_;
    const base::Duration ahead_;
    double run_time_us_ = 0; // a moving average; 0: none yet
    double payload_bytes_ = 0;
};

} // namespace deadman::worker::internal
