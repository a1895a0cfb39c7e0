#pragma once
// Workloads: the jobs of the harness and the effects they leave. Both guards of an effect are here:
// the product's own, and the double of one that is known to lose (DECISIONS 012).
//
// Thread-safety: free functions; make_handler's result is called from many threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/deadman/chaos/fate.h"
#include "apps/deadman/chaos/journal.h"
#include "apps/deadman/store_url.h"
#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/job_store.h"
#include "deadman/worker/handler.h"

namespace deadman::chaos {

enum class Workload {
    rows,   // effect: a row (job_id, fence, pid, at)
    sha256, // effect: a row (job_id, path, sha256, fence) about a real file
};

std::string_view workload_name(Workload workload);
std::optional<Workload> parse_workload(std::string_view name);

/// The kind of its jobs, and the table of its effects: no unique constraint, on purpose.
std::string workload_kind(Workload workload);
std::string effect_table(Workload workload);
std::string create_effect_table(Workload workload);

enum class Guard {
    transaction, // context.transaction(): effect and completion commit together
    two_stores,  // a mark in another store before the effect: the double that loses
};

std::string_view guard_name(Guard guard);
std::optional<Guard> parse_guard(std::string_view name);

/// What a worker process of the harness is told.
struct WorkerBrief {
    StoreUrl store;
    std::string queue;
    Workload workload = Workload::rows;
    Guard guard = Guard::transaction;
    std::string folder; // journal, log, the parent's marks, second store
    FatePlan fates;
    base::Duration lease = std::chrono::seconds(8);
    int slots = 4;
    base::Duration work{}; // what a handler waits before its effect
    int max_crashes = 3;
};

std::string journal_path(const std::string& folder);
std::string spare_path(const std::string& folder); // while it exists, nobody dies by fate
std::string hurry_path(const std::string& folder); // ... the reluctant die too, and work is slow
std::string marks_path(const std::string& folder);
std::string log_path(const std::string& folder);

/// The table of marks, for two_stores.
base::Status prepare_marks(const std::string& folder);

/// `brief`, `store`, `journal` and `clock` must outlive the handler.
base::Result<worker::Handler> make_handler(const WorkerBrief& brief, store::JobStore& store,
                                           const Journal& journal, base::Clock& clock);

} // namespace deadman::chaos
