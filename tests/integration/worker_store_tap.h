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

    std::atomic<bool> down = false;            // nothing happens: unavailable
    std::atomic<int> lose_answer_every = 0;    // every Nth call happens and its answer is lost
    std::atomic<bool> lose_transact = false;   // happens, answer lost
    std::atomic<bool> drop_transact = false;   // does not happen, answer lost
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
        const bool lose = lose_transact.exchange(false);
        const auto status = inner_.transact(session, run, result_json, body);
        if (lose)
            return lost;
        return status;
    }

  private:
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
