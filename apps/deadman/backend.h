#pragma once
// JobBackend: what the verbs ask for, whether a store or a server answers.
//
// Thread-safety: external synchronization.
// Blocking:      every method waits for I/O.
// Errors:        as store/job_store.h; unavailable also where nobody listens, and says how to start
// one.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/domain/job.h"
#include "deadman/store/job_query.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::cli {

struct ListedJobs {
    std::vector<store::JobRecord> jobs;
    std::string next_cursor; // empty: that was all
};

/// What one call of enqueue may hold.
struct BatchBounds {
    std::size_t most_jobs = 1'000;
    std::size_t most_bytes = 16 << 20;
};

class JobBackend {
  public:
    virtual ~JobBackend() = default;

    /// For messages: without secrets.
    virtual std::string name() const = 0;

    virtual BatchBounds batch_bounds() const {
        return {};
    }

    /// Whether the call that failed last did so for want of a right.
    virtual bool is_unauthorised() const {
        return false;
    }

    /// Roughly the store's.
    virtual base::Result<base::TimePoint> now() = 0;

    virtual base::Result<std::vector<store::Enqueued>>
    enqueue(std::span<const domain::JobSpec> specs) = 0;

    virtual base::Result<std::optional<store::JobRecord>> find(domain::JobId id) = 0;
    virtual base::Result<std::vector<store::RunRecord>> runs(domain::JobId id) = 0;

    /// `filter.after` is not used: `cursor` is what an earlier page gave, for this very filter.
    virtual base::Result<ListedJobs> list(const store::JobFilter& filter,
                                          const std::string& cursor) = 0;

    virtual base::Result<store::CancelAnswer> cancel(domain::JobId id) = 0;
    virtual base::Status retry(domain::JobId id) = 0;
    virtual base::Status remove(domain::JobId id) = 0;

    virtual base::Result<std::vector<store::QueueRecord>> queues() = 0;
    virtual base::Status pause_queue(const std::string& queue) = 0;
    virtual base::Status resume_queue(const std::string& queue) = 0;

    virtual base::Result<std::vector<store::SessionRecord>> sessions() = 0;
};

} // namespace deadman::cli
