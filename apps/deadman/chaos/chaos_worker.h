#pragma once
// One worker process of the harness: how its brief travels on a command line, and what it does.

#include <string>
#include <vector>

#include "apps/deadman/chaos/workload.h"
#include "deadman/base/result.h"
#include "deadman/domain/lease_terms.h"
#include "deadman/store/maintenance.h"

namespace deadman::chaos {

/// "--name=value" each, for parse_brief in another process of this binary.
std::vector<std::string> format_brief(const WorkerBrief& brief);
base::Result<WorkerBrief> parse_brief(const std::vector<std::string>& arguments);

/// The defaults for the default lease, else the same proportions.
domain::LeaseTerms lease_terms(base::Duration lease);

/// Upkeep of every process of a run. Where max_crashes is raised a suspect does not wait either.
store::UpkeepRequest upkeep_request(base::Duration lease, int max_crashes);

/// Works until it is told to leave. The exit code.
int run_chaos_worker(const WorkerBrief& brief);

} // namespace deadman::chaos
