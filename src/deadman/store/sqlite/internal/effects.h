#pragma once
// Effects: transact(), on the caller's thread and a connection of its own, within a bound.
//
// Contract:      store/job_store.h. While a body runs this process holds the file's write lock: a
// body
//                past the bound is rolled back, whether it runs a statement or not.
// Thread-safety: safe for concurrent use.

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/store/effect_transaction.h"
#include "deadman/store/session.h"
#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/file_watch.h"

namespace deadman::store::sqlite {

class BoundedTransaction;

class Effects {
  public:
    Effects(ConnectionOptions options, FileWatch& watch, base::Clock& clock, base::Duration bound);
    ~Effects();

    /// Called at each begin. Set before the first.
    void set_on_begin(std::function<void()> on_begin) {
        on_begin_ = std::move(on_begin);
    }

    base::Status transact(const SessionKey& session, const RunKey& run,
                          std::string_view result_json, const EffectBody& body);

    /// Rolls back the transactions that are past their bound while no statement of theirs runs.
    /// Called from another thread, about as often as the bound is to be exact.
    void end_overdue();

    /// Whether end_overdue() has anything to watch.
    bool has_open();

  private:
    class Watch;

    base::Result<std::unique_ptr<Connection>> take();
    void give_back(std::unique_ptr<Connection> connection);

    const ConnectionOptions options_;
    FileWatch& watch_;
    base::Clock& clock_;
    const base::Duration bound_;
    std::function<void()> on_begin_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_; // guarded by mutex_
    std::set<BoundedTransaction*> open_;            // guarded by mutex_
};

} // namespace deadman::store::sqlite
