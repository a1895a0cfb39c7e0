#pragma once
// Fleet: the worker processes of the harness. A worker that dies is replaced at once.
//
// Thread-safety: external synchronization.
// Ownership:     the processes end with the object, and with this process, however it ends.
// Errors:        unavailable: workers leave as soon as they start, so it is no use to go on.

#include <map>
#include <string>
#include <vector>

#include "apps/deadman/chaos/fate.h"
#include "apps/deadman/chaos/timing.h"
#include "deadman/base/clock.h"
#include "deadman/base/random.h"
#include "deadman/base/result.h"
#include "deadman/platform/process.h"

namespace deadman::chaos {

struct FleetLosses {
    std::vector<Death> deaths;     // all of them, in order
    std::int64_t killed = 0;       // by SIGKILL
    std::int64_t killed_by_us = 0; // ... from outside
    std::int64_t left = 0;         // by themselves
};

class Fleet {
  public:
    Fleet(std::vector<std::string> argv, int workers, base::Clock& clock);

    /// Starts what is missing, notices who died. To be called often.
    base::Status tend();

    /// Kills one that runs and is not stopped; false where there is none.
    bool kill_one(base::Random& random);

    /// The process has stopped itself; it is woken by tend() `after` so long.
    void stopped(int pid, base::TimePoint at, base::Duration after);

    /// Whoever is stopped is woken after so long, if that is sooner.
    void wake_sooner(base::Duration after);

    int stopped_now() const;

    bool is_running(int pid) const;
    bool is_stopped(int pid) const;
    int running() const;

    const FleetLosses& losses() const {
        return losses_;
    }

    /// Asks all to leave, and kills after `patience` who has not.
    void dismiss(base::Duration patience);

  private:
    base::Status start_one();
    void bury(int pid, const platform::ExitStatus& status);

    std::vector<std::string> argv_;
    int workers_;
    base::Clock& clock_;
    std::map<int, platform::ChildProcess> processes_;

    struct Stop {
        base::TimePoint at;
        base::Duration after{};
    };

    std::map<int, Stop> stopped_;
    std::map<int, base::TimePoint> to_be_killed_;
    FleetLosses losses_;
    int failures_in_a_row_ = 0;
};

} // namespace deadman::chaos
