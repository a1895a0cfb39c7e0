#pragma once
// Exchanges: the requests that are waiting for their answer, each answered once, by whoever is
// first: the pool thread that ran it, or the timer that found it waiting too long.
//
// Thread-safety: safe for concurrent use.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/http/exchange.h"
#include "deadman/http/router.h"

namespace deadman::http {

class Exchange {
  public:
    using Reply = std::function<void(Response)>;

    Exchange(Request request, Match match, base::SteadyTime began, Reply reply)
        : request_(std::move(request)), match_(std::move(match)), began_(began),
          reply_(std::move(reply)) {}

    const Request& request() const {
        return request_;
    }

    const Match& match() const {
        return match_;
    }

    base::SteadyTime began() const {
        return began_;
    }

    /// False where it has been answered already: it must not be run any more.
    bool begin();

    /// Sends what `make` makes, unless an answer was sent before; `begun`: it was being run, or had
    /// been. Once this has been called it will not begin any more.
    void answer(const std::function<Response(bool begun)>& make);

  private:
    const Request request_;
    const Match match_;
    const base::SteadyTime began_;
    std::mutex mutex_;
    Reply reply_;        // guarded by mutex_; empty once used
    bool begun_ = false; // guarded by mutex_
};

using ExchangePtr = std::shared_ptr<Exchange>;

class Exchanges {
  public:
    void add(const ExchangePtr& exchange);
    void remove(const ExchangePtr& exchange);

    /// Those that began before `time`.
    std::vector<ExchangePtr> older_than(base::SteadyTime time) const;

    /// Waits until none is left, or `patience` has passed.
    bool wait_until_empty(base::Clock& clock, base::Duration patience);

  private:
    mutable std::mutex mutex_;
    std::condition_variable emptied_;
    std::map<const Exchange*, ExchangePtr> open_; // guarded by mutex_
};

} // namespace deadman::http
