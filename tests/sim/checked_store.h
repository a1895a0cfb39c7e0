#pragma once
// CheckedStore: passes calls on and looks, before and after each, whether a caller that no longer
// owns something has changed it (I3). The look goes to the in-memory store itself, past any planted
// bug.

#include <functional>
#include <map>
#include <string>

#include "deadman/store/memory/memory_job_store.h"
#include "tests/sim/forwarding_store.h"

namespace deadman::sim {

class CheckedStore final : public ForwardingStore {
  public:
    using Complain = std::function<void(std::string)>;

    CheckedStore(store::JobStore& inner, store::MemoryJobStore& truth, Complain complain);

    base::Result<store::Session> register_session(const store::SessionSpec& spec) override;
    base::Result<store::Renewal> renew(const store::SessionKey& session,
                                       const store::RenewRequest& request) override;
    base::Status end_session(const store::SessionKey& session, std::string_view reason) override;
    base::Result<std::vector<store::Claimed>> claim(const store::SessionKey& session,
                                                    const store::ClaimRequest& request) override;
    base::Result<std::vector<domain::Verdict>>
    complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) override;
    base::Status transact(const store::SessionKey& session, const store::RunKey& run,
                          std::string_view result_json, const store::EffectBody& body) override;

    /// Whether a call that may have changed something came since the last question.
    bool take_changed() {
        return std::exchange(changed_, false);
    }

    void mark_changed() {
        changed_ = true;
    }

  private:
    bool session_lives(const store::SessionKey& session);
    bool owns(const store::SessionKey& session, const store::JobRecord& job,
              const store::RunKey& run);
    void check_untouched(const store::JobRecord& before, const char* call);

    store::MemoryJobStore& truth_;
    Complain complain_;
    bool changed_ = true;
};

} // namespace deadman::sim
