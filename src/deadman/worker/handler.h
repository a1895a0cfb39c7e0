#pragma once
// Handlers: what runs a job. A handler is a function of a RunContext that returns an Answer.
//
// Thread-safety: a handler is called from many threads at once, each with a context of its own.

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/domain/outcome.h"
#include "deadman/store/effect_transaction.h"
#include "deadman/store/job_types.h"

namespace deadman::worker {

/// What a handler sees of its run.
///
/// Thread-safety: the handler's thread, but for `stop_token`, which may be handed on.
class RunContext {
  public:
    virtual ~RunContext() = default;

    virtual const store::Claimed& claimed() const = 0;

    /// 1 on the first attempt. A lapsed run does not count: it may have done part of its work.
    int attempt() const {
        return claimed().attempts_spent + 1;
    }

    /// Fires when the run must stop: cancelled, timed out, lease no longer certain, forced drain.
    /// Work done after it fired is not recorded.
    virtual std::stop_token stop_token() const = 0;

    /// What this run, and nothing else, may be ended with from elsewhere: the key of
    /// deadman.guard and deadman.complete in Postgres.
    virtual std::string run_key() const = 0;

    /// The run is timed out at this time; SteadyTime::max() where there is no timeout.
    virtual base::SteadyTime deadline() const = 0;

    /// Commits what `body` writes together with the end of this run: both or neither. Once it
    /// returned success the handler's answer is ignored. Call at most once. See
    /// store::JobStore::transact.
    virtual base::Status transaction(const store::EffectBody& body,
                                     std::string_view result_json) = 0;

    base::Status transaction(const store::EffectBody& body) {
        return transaction(body, {});
    }

    /// Told to the store with the next heartbeat; the last one wins.
    virtual void progress(int percent, std::string note) = 0;
};

/// May throw: an exception is an `error` with its text. Returning after `stop_token` fired is fine.
using Handler = std::function<domain::Answer(RunContext&)>;

/// How a handler's runs succeed.
enum class Ending {
    by_answer,      // by what it returns; it may also use RunContext::transaction
    in_transaction, // always by RunContext::transaction: such runs are claimed for that
};

/// Which handler runs which kind. Built before the worker starts, constant after.
class HandlerRegistry {
  public:
    void add(std::string kind, Handler handler, Ending ending = Ending::by_answer);

    /// nullptr where the kind is unknown.
    const Handler* find(std::string_view kind) const;

    std::vector<std::string> kinds() const;
    std::vector<std::string> kinds(Ending ending) const;

  private:
    struct Entry {
        Handler handler;
        Ending ending = Ending::by_answer;
    };

    std::map<std::string, Entry, std::less<>> handlers_;
};

} // namespace deadman::worker
