#pragma once
// DeepFill: a queue made deep by the database itself, as no client could in time: copies of one job
// that was enqueued in the usual way.
//
// Blocking:      minutes where there are millions.
// Errors:        exhausted: the disk has too little room. invalid_argument: no SQL behind the
// store.

#include <string>

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

enum class FillTo { ready, later };

/// Copies of `job` wait or are due later, as it does. REQUIRES: it has neither key.
base::Status deep_fill(const Bench& bench, const domain::JobSpec& job, FillTo to, int jobs);

} // namespace deadman::bench
