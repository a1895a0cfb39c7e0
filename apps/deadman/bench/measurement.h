#pragma once
// Measurement: what a benchmark came to, for people and for programs.

#include <string>
#include <utility>
#include <vector>

#include "apps/deadman/bench/bench_target.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/progress_line.h"

namespace deadman::bench {

struct Measurement {
    cli::JsonObject json;
    std::vector<std::string> lines;
    bool held = true; // false: what was measured is not as it must be

    void line(std::string text) {
        lines.push_back(std::move(text));
    }
};

/// What all benchmarks work with.
struct Bench {
    base::Clock& clock;
    BenchTarget& target;
    ProgressLine& progress;
};

/// A queue that nobody else has.
std::string new_queue();

/// Puts so many jobs like `job` in, by the thousand.
base::Status fill(const Bench& bench, const domain::JobSpec& job, int jobs);

/// Size of all tables and indexes of the store, without those that hold only what is waiting or
/// running where `lasting` says so.
base::Result<double> stored_bytes(const BenchTarget& target);
base::Result<double> lasting_bytes(const BenchTarget& target);

/// Bytes of write-ahead log so far; 0 where the store does not tell.
base::Result<double> log_bytes(const BenchTarget& target);

} // namespace deadman::bench
