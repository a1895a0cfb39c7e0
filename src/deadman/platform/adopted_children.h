#pragma once
// AdoptedChildren: as process 1 of a container, this process becomes the parent of every orphan in
// it, and has to bury those that have ended. In any other process it does nothing.
//
// Contract:      an ended orphan is gone within two seconds, whatever else the process does. Our
//                own children are left to their ChildProcess.
// Thread-safety: external synchronization.
// Ownership:     one in a process, made after SignalWatch. `clock` must outlive it.
// Source:        case C43.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "deadman/base/clock.h"

namespace deadman::platform {

class AdoptedChildren {
  public:
    explicit AdoptedChildren(base::Clock& clock);
    ~AdoptedChildren();

    AdoptedChildren(const AdoptedChildren&) = delete;
    AdoptedChildren& operator=(const AdoptedChildren&) = delete;

  private:
    void run();

    base::Clock& clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false; // guarded by mutex_
    std::thread thread_;
};

} // namespace deadman::platform
