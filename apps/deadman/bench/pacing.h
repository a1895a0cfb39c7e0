#pragma once
// Pause, CommitProbe: waiting for moments, and how long a bare commit takes meanwhile.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/deadman/bench/bench_target.h"
#include "deadman/base/clock.h"

namespace deadman::bench {

/// Blocks until then.
void pause_until(base::Clock& clock, base::SteadyTime moment);

/// Commits one row of its own every now and then, while it lives. Idle for a store without SQL.
class CommitProbe {
  public:
    static base::Result<std::unique_ptr<CommitProbe>> start(const BenchTarget& target,
                                                            base::Clock& clock);
    ~CommitProbe();

    CommitProbe(const CommitProbe&) = delete;
    CommitProbe& operator=(const CommitProbe&) = delete;

    /// Ends it; how long each commit took.
    std::vector<base::Duration> finish();

  private:
    CommitProbe(const BenchTarget& target, base::Clock& clock);
    void run();

    const BenchTarget& target_;
    base::Clock& clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false; // guarded by mutex_
    std::vector<base::Duration> commits_;
    std::thread thread_;
};

} // namespace deadman::bench
