#pragma once
// LiveRun: one run on its way through a handler; the handler's RunContext.
//
// Thread-safety: RunContext's rules; stop() from any thread.

#include <atomic>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "deadman/store/job_store.h"
#include "deadman/worker/handler.h"
#include "deadman/worker/worker_action.h"
#include "deadman/worker/worker_core.h"

namespace deadman::worker::internal {

class LiveRun final : public RunContext {
  public:
    using ProgressSink = std::function<void(const store::RunKey&, int, std::string)>;

    LiveRun(StartRun start, store::JobStore& store, ProgressSink sink);

    const store::Claimed& claimed() const override {
        return start_.claimed;
    }

    std::string run_key() const override;

    std::stop_token stop_token() const override {
        return source_.get_token();
    }

    base::SteadyTime deadline() const override {
        return start_.deadline;
    }

    using RunContext::transaction;
    base::Status transaction(const store::EffectBody& body, std::string_view result_json) override;
    void progress(int percent, std::string note) override;

    void stop(StopWhy why);

    bool stopped() const {
        return source_.stop_requested();
    }

    /// Calls the handler and turns whatever comes out of it into an answer.
    domain::Answer call(const Handler& handler);

    TransactionOutcome transaction_outcome() const {
        return outcome_;
    }

    /// Why the store let the handler's last transaction down, if it did and the handler had no more
    /// to say than that: `call` then answered with a release, which spends nothing.
    const std::string& store_trouble() const {
        return store_trouble_;
    }

  private:
    domain::Answer answer_of(const Handler& handler);

    StartRun start_;
    store::JobStore& store_;
    ProgressSink sink_;
    std::stop_source source_;
    std::atomic<StopWhy> why_{StopWhy::cancelled};
    TransactionOutcome outcome_ = TransactionOutcome::none;
    std::string store_trouble_; // empty: none
};

} // namespace deadman::worker::internal
