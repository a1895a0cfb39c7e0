#pragma once
// SimChecker: the invariants I1 to I7 that apply to a store and its workers, looked at after every
// step. What it knows of jobs comes from what was acknowledged, not from the store.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "deadman/store/memory/memory_job_store.h"
#include "tests/sim/mutant_store.h"

namespace deadman::sim {

/// What a node shows of itself.
struct NodeView {
    bool acts = false; // alive and not paused
    std::size_t buffered = 0;
    std::size_t running = 0;
    std::size_t held = 0;
    std::size_t slots = 0;
    std::size_t whole = 0;                      // slots and prefetch
    std::vector<domain::JobId> believes_to_run; // handlers at work that were not told to stop
};

class SimChecker {
  public:
    SimChecker(store::MemoryJobStore& truth, const MutantStore& effects, int max_crashes);

    void accepted(domain::JobId job, const domain::JobSpec& spec);
    void cancel_accepted(domain::JobId job);
    void retried(domain::JobId job);
    void started(const store::RunKey& run);

    void check_store();
    void check_nodes(const std::vector<NodeView>& nodes);
    void check_end();

    void complain(std::string what);

    /// The first violation, or empty.
    const std::string& violation() const {
        return violation_;
    }

    std::size_t jobs() const {
        return ledger_.size();
    }

    bool all_terminal() const {
        return all_terminal_;
    }

  private:
    struct Entry {
        domain::JobSpec spec;
        store::JobRecord last;
        bool seen = false;
        bool cancel_accepted = false;
        bool retry_accepted = false;
        std::set<domain::Fence> started;
    };

    void check_job(Entry& entry, const store::JobRecord& now,
                   const std::set<domain::SessionId>& live, int effects);
    std::set<domain::SessionId> live_sessions();

    store::MemoryJobStore& truth_;
    const MutantStore& effects_;
    const int max_crashes_;
    std::map<domain::JobId, Entry> ledger_;
    std::string violation_;
    bool all_terminal_ = false;
};

} // namespace deadman::sim
