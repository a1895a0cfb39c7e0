#pragma once
// Probe: looks at a store from outside, by plain SQL on a connection of its own. Nothing of the
// product's own code is between the tables and the verdict.
//
// Thread-safety: external synchronization.
// Blocking:      each call is a few statements.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/deadman/store_url.h"
#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::chaos {

/// Runs and ends, of jobs of the watched queue.
struct Totals {
    std::int64_t succeeded = 0; // jobs
    std::int64_t terminal = 0;
    std::int64_t ended_runs = 0;
    std::int64_t lapsed = 0;
    std::int64_t released = 0;
};

struct JobEnd {
    std::string state;
    std::string reason;
};

struct EndedRun {
    std::int64_t job = 0;
    std::int64_t fence = 0;
    std::int64_t session = 0;
    bool lapsed = false;
    base::TimePoint finished_at;
};

struct ProbedSession {
    int pid = 0;
    bool ended = false;
    std::int64_t held = 0; // runs
    base::TimePoint started_at;
    base::TimePoint lease_until;
};

class Probe {
  public:
    virtual ~Probe() = default;

    /// Any statement without parameters or rows: tables of the harness's own.
    virtual base::Status execute(const std::string& sql) = 0;

    /// Does anybody hold a lock now without which nobody can write at all? Only SQLite has one;
    /// there a busy store answers yes often, and a stopped writer always.
    virtual bool is_write_locked() = 0;

    virtual base::Result<Totals> totals() = 0;
    virtual base::Result<std::map<std::int64_t, ProbedSession>> sessions() = 0;

    /// Terminal jobs by id.
    virtual base::Result<std::map<std::int64_t, JobEnd>> ends() = 0;
    virtual base::Result<std::vector<EndedRun>> runs() = 0;

    /// How many rows of `table` (column job_id) each job has.
    virtual base::Result<std::map<std::int64_t, std::int64_t>>
    effects(const std::string& table) = 0;

    /// Rows of text; for comparisons.
    virtual base::Result<std::vector<std::vector<std::string>>> query(const std::string& sql) = 0;
};

/// `queue` must be a plain name: it is written into the statements.
base::Result<std::unique_ptr<Probe>> open_probe(const StoreUrl& url, const std::string& queue);

} // namespace deadman::chaos
