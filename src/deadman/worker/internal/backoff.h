#pragma once
// Backoff: how long to wait before a failed call is tried again. Doubles up to a cap, with jitter,
// so that workers which lost the store together do not come back together.

#include <algorithm>

#include "deadman/base/random.h"
#include "deadman/base/time.h"

namespace deadman::worker::internal {

class Backoff {
  public:
    Backoff(base::Duration first, base::Duration cap) : first_(first), cap_(cap), step_(first) {}

    /// Within [step / 2, step]; the step doubles with each call.
    base::Duration next(base::Random& random) {
        const base::Duration step = step_;
        step_ = std::min(step_ * 2, cap_);
        return step / 2 + base::Duration{static_cast<base::Duration::rep>(
                              random.unit() * static_cast<double>((step / 2).count()))};
    }

    void reset() {
        step_ = first_;
    }

  private:
    base::Duration first_;
    base::Duration cap_;
    base::Duration step_;
};

} // namespace deadman::worker::internal
