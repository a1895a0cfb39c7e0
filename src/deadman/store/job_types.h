#pragma once
// What goes into and comes out of enqueue, claim and complete.

#include <string>
#include <vector>

#include "deadman/base/time.h"
#include "deadman/domain/blame.h"
#include "deadman/domain/job.h"
#include "deadman/domain/outcome.h"

namespace deadman::store {

struct Enqueued {
    domain::JobId id;
    bool is_new = true;    // false: an earlier job holds the unique or idempotency key
    bool replayed = false; // the idempotency key was used by the same request before
};

/// Names one run: a job under a fence.
struct RunKey {
    domain::JobId job;
    domain::Fence fence;

    friend auto operator<=>(const RunKey&, const RunKey&) = default;
};

struct ClaimRequest {
    std::int64_t claim_no = 0; // per session, growing; a retry of an unknown outcome repeats it
    std::vector<std::string> queues;
    int max = 1;
    bool suspect = false; // take one suspect, alone; REQUIRES: the session holds nothing
};

/// One claimed job: everything that its run needs.
struct Claimed {
    RunKey run;
    bool solo = false; // has a lease of its own, so it may end inside the app's transaction
    std::string kind;
    std::string queue;
    std::string payload;
    int attempts_spent = 0;
    int max_attempts = domain::default_max_attempts;
    domain::RetryPolicy retry;
    base::Duration timeout = domain::default_timeout;
    domain::Blame blame;
    base::TimePoint claimed_at;
};

struct RunEnd {
    RunKey run;
    domain::Answer answer;
};

enum class CancelAnswer {
    cancelled,        // it had not started; it will not
    requested,        // accepted: it ends cancelled, whatever the handler answers
    already_finished, // too late: nothing changed
    not_found,
    unknown, // nothing was accepted within the bound; a run that is in its transaction has been
             // asked to stop, and ends cancelled unless it commits first
};

} // namespace deadman::store
