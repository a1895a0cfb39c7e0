#pragma once
// Samples: measured times, and what they come to.
//
// Thread-safety: external synchronization.

#include <cstddef>
#include <string>
#include <vector>

#include "deadman/base/time.h"

namespace deadman::bench {

struct Spread {
    std::size_t count = 0;
    double p50_ms = 0;
    double p95_ms = 0;
    double p99_ms = 0;
    double max_ms = 0;
};

/// By nearest rank; zeros where there is no sample.
Spread spread_of(std::vector<base::Duration> samples);

/// {"n":..,"p50_ms":..,"p95_ms":..,"p99_ms":..,"max_ms":..}, three decimals.
std::string spread_json(const Spread& spread);

/// "p50 0.81  p95 1.20  p99 2.00  max 4.10 ms"
std::string spread_text(const Spread& spread);

/// With so many decimals, for JSON: never "nan".
std::string decimal(double value, int decimals);

/// 123456.7 -> "123,457"
std::string thousands(double value);

double seconds_of(base::Duration duration);
double per_second(double amount, base::Duration duration);

} // namespace deadman::bench
