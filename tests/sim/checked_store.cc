#include "tests/sim/checked_store.h"

#include <set>
#include <utility>

namespace deadman::sim {
namespace {

std::string name_of(domain::JobId job) {
    return "job " + std::to_string(job.value);
}

bool same(const store::JobRecord& a, const store::JobRecord& b) {
    return a.state == b.state && a.attempts_spent == b.attempts_spent && a.blame == b.blame &&
           a.snoozes == b.snoozes && a.cancel_requested == b.cancel_requested && a.due == b.due &&
           a.fence == b.fence && a.session == b.session && a.finished_at == b.finished_at &&
           a.reason == b.reason && a.result == b.result;
}

} // namespace

CheckedStore::CheckedStore(store::JobStore& inner, store::MemoryJobStore& truth, Complain complain)
    : ForwardingStore(inner), truth_(truth), complain_(std::move(complain)) {}

bool CheckedStore::session_lives(const store::SessionKey& session) {
    const auto sessions = truth_.sessions().value();
    for (const store::SessionRecord& record : sessions)
        if (record.id == session.id)
            return !record.ended_at;
    return false;
}

bool CheckedStore::owns(const store::SessionKey& session, const store::JobRecord& job,
                        const store::RunKey& run) {
    return job.state == domain::JobState::running && job.fence == run.fence &&
           job.session == session.id && session_lives(session);
}

void CheckedStore::check_untouched(const store::JobRecord& before, const char* call) {
    const auto after = truth_.find(before.id).value();
    if (!after || !same(before, *after))
        complain_("I3: " + std::string(call) + " under an old fence changed " + name_of(before.id));
}

base::Result<store::Session> CheckedStore::register_session(const store::SessionSpec& spec) {
    changed_ = true;
    return inner_.register_session(spec);
}

base::Result<store::Renewal> CheckedStore::renew(const store::SessionKey& session,
                                                 const store::RenewRequest& request) {
    changed_ = true;
    const bool lives = session_lives(session);
    auto result = inner_.renew(session, request);
    if (!lives && result)
        complain_("I3: a renewal of an ended session was acknowledged");
    return result;
}

base::Status CheckedStore::end_session(const store::SessionKey& session, std::string_view reason) {
    changed_ = true;
    return inner_.end_session(session, reason);
}

base::Result<std::vector<store::Claimed>> CheckedStore::claim(const store::SessionKey& session,
                                                              const store::ClaimRequest& request) {
    changed_ = true;
    const bool lives = session_lives(session);
    auto result = inner_.claim(session, request);
    if (!lives && result && !result->empty())
        complain_("I3: an ended session claimed something");
    return result;
}

base::Result<std::vector<domain::Verdict>>
CheckedStore::complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) {
    changed_ = true;
    std::vector<store::JobRecord> not_owned;
    std::vector<bool> owned;
    std::set<domain::JobId> rightly_changed;
    for (const store::RunEnd& end : ends) {
        const auto job = truth_.find(end.run.job).value();
        owned.push_back(job && owns(session, *job, end.run));
        if (job && !owned.back())
            not_owned.push_back(*job);
        if (owned.back())
            rightly_changed.insert(
                job->id); // an end of an earlier run of it may be in the batch too
    }
    auto result = inner_.complete(session, ends);
    for (const store::JobRecord& job : not_owned)
        if (!rightly_changed.contains(job.id))
            check_untouched(job, "complete");
    for (std::size_t i = 0; result && i < ends.size(); ++i)
        if (!owned[i] && (*result)[i] != domain::Verdict::fenced &&
            (*result)[i] != domain::Verdict::repeat)
            complain_("I3: an end under an old fence was accepted for " + name_of(ends[i].run.job));
    return result;
}

base::Status CheckedStore::transact(const store::SessionKey& session, const store::RunKey& run,
                                    std::string_view result_json, const store::EffectBody& body) {
    changed_ = true;
    const auto job = truth_.find(run.job).value();
    const bool owned = job && owns(session, *job, run);
    const auto status = inner_.transact(session, run, result_json, body);
    if (job && !owned) {
        check_untouched(*job, "transact");
        if (status)
            complain_("I3: a transaction under an old fence was accepted for " + name_of(run.job));
    }
    return status;
}

} // namespace deadman::sim
