#pragma once
// WakeUps: idle workers wait here. Commits of this process wake them at once; those of others are
// seen by a look at the file's change counter every few dozen milliseconds, and only while somebody
// waits.
//
// Thread-safety: safe for concurrent use.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

class WakeUps {
  public:
    WakeUps(std::unique_ptr<Connection> connection, base::Clock& clock);

    /// See JobStore::wait_for_work.
    void wait(std::span<const std::string> queues, base::Duration patience);

    void interrupt();

    /// This process has made jobs claimable.
    void notify();

  private:
    bool is_claimable(std::span<const std::string> queues, bool suspects_too);
    void look_elsewhere();

    std::unique_ptr<Connection> connection_; // guarded by mutex_
    base::Clock& clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t interrupts_ = 0;  // guarded by mutex_
    std::uint64_t changes_ = 0;     // guarded by mutex_
    std::int64_t data_version_ = 0; // guarded by mutex_
};

} // namespace deadman::store::sqlite
