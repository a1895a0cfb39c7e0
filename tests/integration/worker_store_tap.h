#pragma once
// StoreTap: a JobStore between a worker and the in-memory one that counts calls and can make them
// fail.
//
// Thread-safety: safe for concurrent use.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "tests/sim/forwarding_store.h"

namespace deadman::worker::testing {

class StoreTap final : public sim::ForwardingStore {
  public:
    using ForwardingStore::ForwardingStore;

    std::atomic<bool> down = false;          // nothing happens: unavailable
    std::atomic<int> lose_answer_every = 0;  // every Nth call happens and its answer is lost
    std::atomic<bool> lose_transact = false; // happens, answer lost
    std::atomic<bool> drop_transact = false; // does not happen, answer lost
    std::atomic<base::ErrorCode> fail_transact_with{
        base::ErrorCode::internal}; // once; internal: not
    std::atomic<base::ErrorCode> fail_execute_with{
        base::ErrorCode::internal};            // once; internal: not
    std::atomic<bool> hold_execute = false;    // statements wait to be cancelled
    std::atomic<bool> refuse_renewals = false; // unavailable
    std::atomic<int> renewals = 0;             // acknowledged
    std::atomic<int> claims = 0;               // asked for

    base::Result<store::Session> register_session(const store::SessionSpec& spec) override {
        return faulty([&] { return inner_.register_session(spec); });
    }

    base::Result<store::Renewal> renew(const store::SessionKey& session,
                                       const store::RenewRequest& request) override {
        if (refuse_renewals)
            return base::fail(base::ErrorCode::unavailable, "refused");
        auto result = faulty([&] { return inner_.renew(session, request); });
        renewals += result ? 1 : 0;
        return result;
    }

    base::Status end_session(const store::SessionKey& session, std::string_view reason) override {
        return faulty([&] { return inner_.end_session(session, reason); });
    }

    base::Result<std::vector<store::Claimed>> claim(const store::SessionKey& session,
                                                    const store::ClaimRequest& request) override {
        ++claims;
        return faulty([&] { return inner_.claim(session, request); });
    }

    base::Result<std::vector<store::Claimed>> claim_result(const store::SessionKey& session,
                                                           std::int64_t claim_no) override {
        return faulty([&] { return inner_.claim_result(session, claim_no); });
    }

    base::Result<std::vector<domain::Verdict>>
    complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) override {
        return faulty([&] { return inner_.complete(session, ends); });
    }

    base::Status transact(const store::SessionKey& session, const store::RunKey& run,
                          std::string_view result_json, const store::EffectBody& body) override {
        const auto lost = base::fail(base::ErrorCode::outcome_unknown, "the answer was lost");
        if (drop_transact.exchange(false))
            return lost;
        const base::ErrorCode failure = fail_transact_with.exchange(base::ErrorCode::internal);
        if (failure != base::ErrorCode::internal)
            return base::fail(failure, "the store is in trouble");
        const bool lose = lose_transact.exchange(false);
        const auto tapped = [&](store::EffectTransaction& transaction) {
            TappedTransaction with_faults(*this, transaction);
            return body(with_faults);
        };
        const auto status = inner_.transact(session, run, result_json, tapped);
        if (lose)
            return lost;
        return status;
    }

  private:
    class TappedTransaction final : public store::EffectTransaction {
      public:
        TappedTransaction(StoreTap& tap, store::EffectTransaction& inner)
            : tap_(tap), inner_(inner) {}

        base::Result<std::vector<store::SqlRow>>
        execute(std::string_view sql, std::span<const store::SqlValue> parameters) override {
            const auto failure = tap_.fail_execute_with.exchange(base::ErrorCode::internal);
            if (failure != base::ErrorCode::internal)
                return base::fail(failure, "the store is in trouble");
            if (tap_.hold_execute) {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return cancelled_; });
                return base::fail(base::ErrorCode::cancelled, "cancelled");
            }
            return inner_.execute(sql, parameters);
        }

        void cancel() override {
            const std::lock_guard lock(mutex_);
            cancelled_ = true;
            changed_.notify_all();
        }

      private:
        StoreTap& tap_;
        store::EffectTransaction& inner_;
        std::mutex mutex_;
        std::condition_variable changed_;
        bool cancelled_ = false;
    };

    template <typename Call> auto faulty(Call call) -> decltype(call()) {
        if (down)
            return base::fail(base::ErrorCode::unavailable, "the store is away");
        auto result = call();
        const int every = lose_answer_every;
        if (every > 0 && ++calls_ % every == 0)
            return base::fail(base::ErrorCode::outcome_unknown, "the answer was lost");
        return result;
    }

    std::atomic<int> calls_ = 0;
};

} // namespace deadman::worker::testing
