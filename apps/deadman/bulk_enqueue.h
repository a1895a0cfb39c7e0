#pragma once
// Bulk enqueue: jobs from lines of JSON, in batches.
//
// Contract:      lines are taken in order. It stops at the first line that is wrong or refused:
// those
//                before it are enqueued, it and those after it are not. With an idempotency prefix
//                the same lines may be given again: those that are in are not enqueued twice.
// Blocking:      waits for input and for the store; a store that is away is tried again for a
// while. Errors:        name the line. invalid_argument, conflict: that line. outcome_unknown: the
// lines of the
//                batch may be in.

#include <cstdint>
#include <functional>
#include <istream>
#include <set>
#include <string>

#include "apps/deadman/backend.h"
#include "apps/deadman/interruption.h"

namespace deadman::cli {

struct BulkOptions {
    std::string idempotency_prefix; // empty: lines without a key of their own have none
    std::function<void(std::int64_t line, const store::Enqueued& job)> on_job;
    std::function<void(std::int64_t lines, std::uint64_t bytes)> on_progress;
};

struct BulkReport {
    std::int64_t enqueued = 0;
    std::int64_t existing = 0; // their unique or idempotency key was taken
    std::int64_t lines = 0;    // that are done with
    std::set<std::string> kinds;
};

class BulkEnqueue {
  public:
    BulkEnqueue(JobBackend& backend, Interruption& interruption, BulkOptions options);

    /// cancelled: interrupted. The report is valid whatever comes out.
    base::Status run(std::istream& input);

    const BulkReport& report() const {
        return report_;
    }

  private:
    base::Status add(std::int64_t number, const std::string& line);
    base::Status flush();
    base::Result<std::vector<store::Enqueued>> send(std::span<const domain::JobSpec> specs);
    base::Status send_one_by_one();
    void record(std::size_t index, const store::Enqueued& job);

    JobBackend& backend_;
    Interruption& interruption_;
    const BulkOptions options_;
    const BatchBounds bounds_;
    BulkReport report_;
    std::vector<domain::JobSpec> specs_; // of the batch, with ...
    std::vector<std::int64_t> numbers_;  // ... the lines they came from
    std::size_t batch_bytes_ = 0;
    std::int64_t last_line_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace deadman::cli
