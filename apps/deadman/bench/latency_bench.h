#pragma once
// From the call of enqueue to the start of the handler, at a steady rate on an idle system, with
// the time of a bare commit measured beside it.

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

struct LatencyBench {
    int rate = 200; // a second
    int seconds = 10;
    int workers = 1;
    double open_transactions = 0; // share of the enqueues made in a transaction that stays open
    base::Duration hold = std::chrono::milliseconds(500);
    int payload_bytes = 100;
};

base::Result<Measurement> measure_latency(const Bench& bench, const LatencyBench& options);

} // namespace deadman::bench
