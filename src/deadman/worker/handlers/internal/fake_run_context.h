#pragma once
// FakeRunContext: a run without a worker, for tests of handlers.

#include <string>
#include <utility>

#include "deadman/worker/handler.h"

namespace deadman::worker::internal {

class FakeRunContext final : public RunContext {
  public:
    explicit FakeRunContext(std::string payload = "{}") {
        claimed_.run = {domain::JobId{7}, domain::Fence{42}};
        claimed_.kind = "test";
        claimed_.queue = "default";
        claimed_.payload = std::move(payload);
        claimed_.attempts_spent = 2;
    }

    using RunContext::transaction;

    const store::Claimed& claimed() const override {
        return claimed_;
    }

    std::stop_token stop_token() const override {
        return stop.get_token();
    }

    std::string run_key() const override {
        return "key-of-the-run";
    }

    base::SteadyTime deadline() const override {
        return deadline_at;
    }

    base::Status transaction(const store::EffectBody&, std::string_view) override {
        return base::fail(base::ErrorCode::internal, "no store");
    }

    void progress(int, std::string) override {}

    std::stop_source stop;
    base::SteadyTime deadline_at = base::SteadyTime::max();

  private:
    store::Claimed claimed_;
};

} // namespace deadman::worker::internal
