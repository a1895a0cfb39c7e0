#pragma once
// MutantStore: the in-memory store with one planted bug, or none.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "deadman/store/memory/memory_job_store.h"
#include "tests/sim/forwarding_store.h"
#include "tests/sim/sim_plan.h"

namespace deadman::sim {

class MutantStore final : public ForwardingStore {
  public:
    MutantStore(store::MemoryJobStore& memory, Mutation mutation);

    base::Result<store::Session> register_session(const store::SessionSpec& spec) override;
    base::Result<store::Renewal> renew(const store::SessionKey& session,
                                       const store::RenewRequest& request) override;
    base::Result<std::vector<store::Claimed>> claim(const store::SessionKey& session,
                                                    const store::ClaimRequest& request) override;
    base::Result<std::vector<domain::Verdict>>
    complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) override;
    base::Status transact(const store::SessionKey& session, const store::RunKey& run,
                          std::string_view result_json, const store::EffectBody& body) override;
    base::Result<store::CancelAnswer> cancel(domain::JobId id) override;
    base::Result<std::unique_ptr<store::Leadership>> try_lead() override;

    /// How many effects of the job are in the table, leaked ones as well.
    std::map<domain::JobId, int> effects() const;

  private:
    class Leader;
    friend class Leader;

    void before_sweep(store::UpkeepRequest& request);
    void after_sweep(const store::UpkeepReport& report);
    std::vector<store::JobRecord> all_jobs();

    store::MemoryJobStore& memory_;
    const Mutation mutation_;
    std::map<domain::SessionId, store::SessionKey> keys_;
    std::map<domain::SessionId, std::vector<store::Claimed>> last_claims_;
    std::map<domain::JobId, int> leaked_;
    std::vector<domain::JobId> running_before_;
};

} // namespace deadman::sim
