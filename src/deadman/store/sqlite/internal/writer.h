#pragma once
// Writer: the one thread of a process that writes; operations that wait together are committed
// together.
//
// Contract:      write() returns once its operation is committed, or with the reason why it is not.
// One
//                failed operation does not fail those that share its transaction. A lone one is not
//                held back.
// Thread-safety: safe for concurrent use.
// Blocking:      write() waits for its commit; the write lock is waited for up to the store's
// patience.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/file_watch.h"

namespace deadman::store::sqlite {

/// What an operation within a write transaction works with.
struct WriteContext {
    Connection& db;
    base::TimePoint now;
    base::SteadyTime steady;
    bool made_work = false; // set by an operation that made a job claimable
};

class Writer {
  public:
    /// `on_work` is called after a commit that made jobs claimable.
    Writer(std::unique_ptr<Connection> connection, FileWatch& watch, base::Clock& clock,
           std::function<void()> on_work);

    /// What was queued is still committed.
    ~Writer();

    template <typename T>
    base::Result<T> write(const std::function<base::Result<T>(WriteContext&)>& operation) {
        std::optional<base::Result<T>> answer;
        const base::Status status = commit([&](WriteContext& context) -> base::Status {
            answer.emplace(operation(context));
            if (!*answer)
                return answer->error();
            return {};
        });
        if (!status)
            return status.error();
        return std::move(*answer);
    }

    /// Whether the last try to write found the disk full.
    bool is_out_of_room() const {
        return is_out_of_room_;
    }

  private:
    using Operation = std::function<base::Status(WriteContext&)>;

    struct Pending {
        const Operation* operation = nullptr;
        base::Status status;
        bool is_finished = false;
        std::condition_variable finished;
    };

    base::Status commit(const Operation& operation);
    void run();
    std::vector<Pending*> take_group(); // REQUIRES: mutex_ is held
    bool commit_group(const std::vector<Pending*>& group);
    bool run_and_commit(const std::vector<Pending*>& group, Moment& moment);
    static void fail_group(const std::vector<Pending*>& group, const base::Error& error);
    static void run_group(WriteContext& context, const std::vector<Pending*>& group);
    static base::Status run_in_savepoint(WriteContext& context, const Operation& operation);

    std::unique_ptr<Connection> connection_;
    FileWatch& watch_;
    base::Clock& clock_;
    std::function<void()> on_work_;
    std::atomic<bool> is_out_of_room_{false};
    std::mutex mutex_;
    std::condition_variable queued_;
    std::deque<Pending*> queue_; // guarded by mutex_
    bool is_stopping_ = false;   // guarded by mutex_
    std::thread thread_;
};

} // namespace deadman::store::sqlite
