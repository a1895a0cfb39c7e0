#pragma once
// WorkerOptions: how one worker behaves. Plain values; the app reads its configuration into them.

#include <cstdint>
#include <string>
#include <vector>

#include "deadman/base/time.h"
#include "deadman/domain/job.h"
#include "deadman/domain/lease_terms.h"
#include "deadman/store/session.h"

namespace deadman::worker {

struct WorkerOptions {
    std::string name; // for people; sessions of one name are strangers to each other
    std::string host;
    int pid = 0;
    std::string version;
    std::vector<std::string> queues{std::string(domain::default_queue)};
    std::vector<std::string> kinds;      // Worker fills them in from its registry
    std::vector<std::string> solo_kinds; // these too: whose runs always end in a transaction

    int slots = 0;     // handlers at a time; 0: twice the cores
    int prefetch = -1; // runs claimed ahead; -1: twice the slots, and more while runs are short
    base::Duration prefetch_ahead = std::chrono::milliseconds(
        100); // ... as many as the slots get through in this; 0 where the number was given
    domain::LeaseTerms terms;

    base::Duration drain_grace =
        std::chrono::seconds(30); // what runs may take to end by themselves
    base::Duration cancel_grace =
        std::chrono::seconds(5); // what a stopped handler may take to return
    base::Duration force_bound = std::chrono::seconds(2); // a forced drain is over after this

    base::Duration idle_patience = std::chrono::seconds(1); // first wait for work ...
    base::Duration max_idle_patience =
        std::chrono::seconds(5); // ... growing to this when idle long
    int max_batch = 1'000;       // runs in one claim and in one completion

    // A busy worker drains now and then to ask for a suspect; while it finds none, less and less
    // often.
    base::Duration suspect_every = std::chrono::minutes(1);
    base::Duration suspect_at_most_every = std::chrono::minutes(5);
    base::Duration suspect_drain_patience = std::chrono::seconds(10);

    std::uint64_t seed = 0; // of jitter; 0: from the operating system
};

/// The options with every "default" marker replaced by its value.
WorkerOptions resolved(WorkerOptions options);

store::SessionSpec session_spec(const WorkerOptions& options);

} // namespace deadman::worker
