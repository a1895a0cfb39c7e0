#pragma once
// SqliteJobStore: a JobStore in one SQLite file, shared by the server and the workers of one
// machine.
//
// Contract:      store/job_store.h. What an enqueue or an end returned is on disk (`durable`).
// Thread-safety: safe for concurrent use, by any number of processes of one machine and boot.
// Blocking:      writes wait for the file's only write lock, at most about `busy_patience`; then
// they
//                answer unavailable. transact() holds that lock while its body runs.
// Ownership:     the clock must outlive the store. A session lives as long as the store object that
//                registered it: its lock file is the proof of life.
// Errors:        opening a file on a network file system: invalid_argument. Disk full: exhausted.
// Source:        docs/ARCHITECTURE.md; DECISIONS 019, 026.

#include <memory>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/domain/payload.h"
#include "deadman/store/job_store.h"

namespace deadman::store {

struct SqliteOptions {
    std::string path;
    bool durable = true; // false: a power loss may take the last commits with it
    base::Duration busy_patience = std::chrono::seconds(10);    // for the write lock
    base::Duration transaction_bound = std::chrono::seconds(1); // of a transact() body
    int checkpoint_pages = 2'000; // of the log, before it is copied back into the file
    domain::PayloadLimits payload_limits;
};

class SqliteJobStore {
  public:
    /// Opens the file, made if need be; the folder must exist. The schema is made by migrate().
    static base::Result<std::unique_ptr<JobStore>> open(const SqliteOptions& options,
                                                        base::Clock& clock);
};

} // namespace deadman::store
