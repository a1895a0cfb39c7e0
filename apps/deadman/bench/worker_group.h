#pragma once
// WorkerGroup: the workers of one measurement: processes of this binary; for a store that lives in
// this process alone, threads of it.
//
// Thread-safety: external synchronization.
// Ownership:     target and clock must outlive it; the workers end with it.
// Errors:        internal: nothing moves any more. unavailable: a worker has died.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apps/deadman/bench/bench_target.h"
#include "apps/deadman/bench/bench_worker.h"
#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/paths.h"

namespace deadman::bench {

/// What the workers have told so far.
struct GroupReport {
    struct Point {
        std::int64_t at_us = 0;
        std::int64_t ended = 0; // of all workers
    };

    int ready = 0;
    int finished = 0;
    std::int64_t first_start_us = 0;
    std::vector<Point> history;
    std::map<std::int64_t, std::int64_t> starts_us;  // by job number
    std::map<std::int64_t, std::int64_t> returns_us; // by job
    std::int64_t peak_rss_kb = 0;                    // of the largest worker, once finished

    std::int64_t ended() const {
        return history.empty() ? 0 : history.back().ended;
    }

    /// From the first handler's call to the last end that is on record.
    base::Duration duration() const;
};

class WorkerGroup {
  public:
    static base::Result<std::unique_ptr<WorkerGroup>> start(BenchTarget& target, base::Clock& clock,
                                                            const WorkerBrief& brief, int workers);
    ~WorkerGroup();

    WorkerGroup(const WorkerGroup&) = delete;
    WorkerGroup& operator=(const WorkerGroup&) = delete;

    base::Status wait_until_ready();

    /// Until so many runs have ended; `show` is called with how many have, now and then.
    base::Status wait_for(std::int64_t ended, const std::function<void(std::int64_t)>& show);

    /// Asks all to drain, waits for it, and gives all that they told.
    base::Result<GroupReport> finish();

    /// Reads what is new.
    const GroupReport& look();

  private:
    class Member;

    WorkerGroup(base::Clock& clock, platform::TemporaryDirectory folder);

    base::Status await(const std::function<bool()>& done);
    void read(std::size_t member);
    void take(std::size_t member, const std::string& line);

    base::Clock& clock_;
    platform::TemporaryDirectory folder_;
    std::vector<std::unique_ptr<Member>> members_;
    std::vector<std::int64_t> ended_; // of each
    GroupReport report_;
};

} // namespace deadman::bench
