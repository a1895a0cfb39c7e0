#pragma once
// Background: the thread that checkpoints when the log has grown and ends effect transactions past
// their bound, so that no caller has to.
//
// Thread-safety: log_grew() is safe for concurrent use.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "deadman/base/clock.h"
#include "deadman/store/sqlite/internal/checkpoints.h"
#include "deadman/store/sqlite/internal/effects.h"

namespace deadman::store::sqlite {

class Background {
  public:
    Background(base::Clock& clock, Checkpoints checkpoints, Effects& effects, int checkpoint_pages);
    ~Background();

    /// Told after each commit of this process.
    void log_grew(int pages);

    /// Told when an effect transaction begins.
    void transaction_begun();

  private:
    void run();
    bool wait(std::unique_lock<std::mutex>& lock);
    void checkpoint();

    base::Clock& clock_;
    Checkpoints checkpoints_;
    Effects& effects_;
    const int step_pages_;
    std::mutex mutex_;
    std::condition_variable wanted_;
    int log_pages_ = 0;        // guarded by mutex_
    int next_checkpoint_ = 0;  // guarded by mutex_: at this length of the log
    bool is_watching_ = false; // guarded by mutex_: effect transactions may be open
    bool is_stopping_ = false; // guarded by mutex_
    std::thread thread_;
};

} // namespace deadman::store::sqlite
