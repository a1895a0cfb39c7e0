#pragma once
// EnqueueGroup: callers that enqueue at the same time share one statement and one commit.
//
// Contract:      a call returns after the commit of its own jobs. A lone call is sent at once;
// calls
//                that come while as many statements as allowed are under way travel together in the
//                next one. Jobs of one call stay together and in order.
// Thread-safety: safe for concurrent use.
// Blocking:      for as long as `send` does, at most twice.
// Ownership:     `send` runs on the thread of one of the callers.
// Errors:        those of `send`. An error that any one of several callers may have caused is
//                answered to nobody: each is sent again alone. Nobody can tell whose part of an
//                unreachable or unknown one it was, so that goes to all of them.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/domain/job.h"
#include "deadman/store/job_store.h"

namespace deadman::store::postgres {

class EnqueueGroup {
  public:
    using Specs = std::span<const domain::JobSpec>;
    using Answer = base::Result<std::vector<Enqueued>>;
    /// Enqueues the jobs of all calls in one transaction and answers for them in order.
    using Send = std::function<Answer(std::span<const Specs> calls)>;

    /// `most_jobs` bounds what travels together; a call of as many goes alone, without waiting.
    EnqueueGroup(Send send, int most_at_once, std::size_t most_jobs);

    Answer enqueue(Specs specs);

    std::size_t waiting() const; // calls

  private:
    struct Call {
        Specs specs;
        bool leads = false;           // told to send what waits, itself included
        std::optional<Answer> answer; // of another that led
        std::condition_variable changed;
    };

    std::vector<Call*> take_waiting(Call& first); // under mutex_
    std::vector<Answer> send_together(std::span<Call* const> calls);
    void pass_the_lead(); // under mutex_

    const Send send_;
    const int most_at_once_;
    const std::size_t most_jobs_;
    mutable std::mutex mutex_;
    std::vector<Call*> waiting_; // guarded by mutex_, in the order of arrival
    int under_way_ = 0;          // guarded by mutex_
};

} // namespace deadman::store::postgres
