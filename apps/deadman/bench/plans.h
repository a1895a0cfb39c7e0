#pragma once
// How Postgres answers the statements of the hot path on a deep queue: every plan of a claim, a
// completion and an enqueue, as auto_explain logs them.
//
// Blocking:      about a second.

#include <string>
#include <string_view>
#include <vector>

#include "apps/deadman/bench/measurement.h"

namespace deadman::bench {

/// One node of a plan that reads a table.
struct Scan {
    std::string node; // "Index Scan"
    std::string table;
    std::string index;
    double rows = 0; // read, those that a filter then dropped included
};

struct PlanReport {
    int statements = 0;              // looked at; 0: none, the server is not ours
    double most_rows = 0;            // that one node read
    std::vector<std::string> faults; // what should not be
};

/// The plans in a stretch of the server's log, a list of scans each.
std::vector<std::vector<Scan>> read_plans(std::string_view log);

base::Result<PlanReport> look_at_plans(const Bench& bench, const std::string& queue, int batch);

void add_plans(const PlanReport& report, Measurement& measured);

} // namespace deadman::bench
