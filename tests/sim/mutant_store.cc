#include "tests/sim/mutant_store.h"

#include <algorithm>
#include <utility>

namespace deadman::sim {
namespace {

class LeakingTransaction final : public store::EffectTransaction {
  public:
    base::Result<std::vector<store::SqlRow>> execute(std::string_view,
                                                     std::span<const store::SqlValue>) override {
        ++statements;
        return std::vector<store::SqlRow>{};
    }

    int statements = 0;
};

} // namespace

class MutantStore::Leader final : public store::Leadership {
  public:
    Leader(MutantStore& store, std::unique_ptr<store::Leadership> inner)
        : store_(store), inner_(std::move(inner)) {}

    base::Result<store::UpkeepReport> sweep(const store::UpkeepRequest& request) override {
        store::UpkeepRequest changed = request;
        store_.before_sweep(changed);
        auto report = inner_->sweep(changed);
        if (report)
            store_.after_sweep(*report);
        return report;
    }

  private:
    MutantStore& store_;
    std::unique_ptr<store::Leadership> inner_;
};

MutantStore::MutantStore(store::MemoryJobStore& memory, Mutation mutation)
    : ForwardingStore(memory), memory_(memory), mutation_(mutation) {}

base::Result<store::Session> MutantStore::register_session(const store::SessionSpec& spec) {
    auto session = inner_.register_session(spec);
    if (session)
        keys_[session->key.id] = session->key;
    return session;
}

base::Result<store::Renewal> MutantStore::renew(const store::SessionKey& session,
                                                const store::RenewRequest& request) {
    auto renewal = inner_.renew(session, request);
    if (!renewal && mutation_ == Mutation::ended_session_renews)
        return store::Renewal{};
    return renewal;
}

base::Result<std::vector<store::Claimed>> MutantStore::claim(const store::SessionKey& session,
                                                             const store::ClaimRequest& request) {
    store::ClaimRequest changed = request;
    if (mutation_ == Mutation::claim_gives_more_than_asked && !request.suspect)
        changed.max = 1'000;
    auto claimed = inner_.claim(session, changed);
    if (claimed && mutation_ == Mutation::claim_repeats_ended && !request.suspect) {
        const std::vector<store::Claimed> earlier =
            std::exchange(last_claims_[session.id], *claimed);
        claimed->insert(claimed->end(), earlier.begin(), earlier.end());
    }
    return claimed;
}

base::Result<std::vector<domain::Verdict>>
MutantStore::complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) {
    auto verdicts = inner_.complete(session, ends);
    if (!verdicts || mutation_ != Mutation::stale_completion_counts)
        return verdicts;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const auto job = memory_.find(ends[i].run.job).value();
        if ((*verdicts)[i] != domain::Verdict::fenced || !job || !job->session)
            continue;
        const store::RunEnd again{{job->id, *job->fence}, ends[i].answer};
        (*verdicts)[i] = inner_.complete(keys_.at(*job->session), {&again, 1}).value()[0];
    }
    return verdicts;
}

base::Status MutantStore::transact(const store::SessionKey& session, const store::RunKey& run,
                                   std::string_view result_json, const store::EffectBody& body) {
    if (mutation_ != Mutation::effect_outside_transaction)
        return inner_.transact(session, run, result_json, body);
    LeakingTransaction leak;
    DEADMAN_TRY_STATUS(body(leak));
    leaked_[run.job] += leak.statements;
    const store::RunEnd end{run, {}};
    DEADMAN_TRY(const auto verdicts, inner_.complete(session, {&end, 1}));
    if (verdicts[0] == domain::Verdict::ok)
        return {};
    return base::fail(base::ErrorCode::fenced, "too late");
}

base::Result<store::CancelAnswer> MutantStore::cancel(domain::JobId id) {
    const auto job = memory_.find(id).value();
    if (mutation_ == Mutation::cancel_is_forgotten && job &&
        job->state == domain::JobState::running)
        return store::CancelAnswer::requested;
    return inner_.cancel(id);
}

base::Result<std::unique_ptr<store::Leadership>> MutantStore::try_lead() {
    DEADMAN_TRY(auto leadership, inner_.try_lead());
    std::unique_ptr<store::Leadership> leader;
    if (leadership)
        leader = std::make_unique<Leader>(*this, std::move(leadership));
    return leader;
}

std::vector<store::JobRecord> MutantStore::all_jobs() {
    store::JobFilter filter;
    filter.limit = 1'000;
    return memory_.list(filter).value().jobs;
}

void MutantStore::before_sweep(store::UpkeepRequest& request) {
    if (mutation_ == Mutation::pill_is_never_quarantined)
        request.crash.max_crashes = 1'000'000;
    if (mutation_ == Mutation::reaper_never_reaps)
        for (const auto& [id, key] : keys_)
            static_cast<void>(inner_.renew(key, {}));
    running_before_.clear();
    if (mutation_ != Mutation::reaper_forgets_run)
        return;
    for (const store::JobRecord& job : all_jobs())
        if (job.state == domain::JobState::running)
            running_before_.push_back(job.id);
}

void MutantStore::after_sweep(const store::UpkeepReport& report) {
    for (const domain::JobId id : running_before_) {
        if (memory_.find(id).value()->state != domain::JobState::pending)
            continue;
        static_cast<void>(inner_.cancel(id));
        static_cast<void>(inner_.remove(id));
        return;
    }
    if (mutation_ != Mutation::reaper_reopens_ended || report.sessions_lapsed == 0)
        return;
    for (const store::JobRecord& job : all_jobs())
        if (inner_.retry(job.id))
            return;
}

std::map<domain::JobId, int> MutantStore::effects() const {
    std::map<domain::JobId, int> counts = leaked_;
    for (const store::CommittedEffect& effect : memory_.committed_effects())
        ++counts[effect.run.job];
    return counts;
}

} // namespace deadman::sim
