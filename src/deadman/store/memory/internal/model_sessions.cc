#include <algorithm>

#include "deadman/domain/payload.h"
#include "deadman/store/memory/internal/model.h"

namespace deadman::store::memory {

using base::ErrorCode;

namespace {

constexpr std::size_t max_note_bytes = 1024;

std::string key_from(base::Random& random) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string key;
    for (int i = 0; i < 32; ++i)
        key.push_back(digits[random.below(digits.size())]);
    return key;
}

} // namespace

const SessionRow* Model::live_session(const SessionKey& session) const {
    const auto found = tables_.sessions.find(session.id);
    if (found == tables_.sessions.end() || found->second.key != session.key ||
        found->second.ended_at)
        return nullptr;
    return &found->second;
}

SessionRow* Model::live_session(const SessionKey& session) {
    return const_cast<SessionRow*>(std::as_const(*this).live_session(session));
}

SessionRow* Model::known_session(const SessionKey& session) {
    const auto found = tables_.sessions.find(session.id);
    if (found == tables_.sessions.end() || found->second.key != session.key)
        return nullptr;
    return &found->second;
}

Session Model::register_session(const SessionSpec& spec, base::TimePoint now) {
    const domain::SessionId id{++tables_.last_session};
    SessionRow& row = tables_.sessions[id];
    row.key = key_from(random_);
    row.spec = spec;
    row.started_at = now;
    row.renewed_at = now;
    return {.key = {id, row.key},
            .renew_every = spec.terms.heartbeat,
            .cancel_after = domain::cancel_after(spec.terms),
            .leave_after = domain::leave_after(spec.terms)};
}

base::Result<Renewal> Model::renew(const SessionKey& session, const RenewRequest& request,
                                   base::TimePoint now) {
    SessionRow* row = live_session(session);
    if (row == nullptr)
        return base::fail(ErrorCode::fenced, "the session has ended");
    row->renewed_at = now;
    const auto held_job = [&](domain::JobId id) -> JobRow* {
        const auto job = tables_.jobs.find(id);
        const bool held = job != tables_.jobs.end() &&
                          job->second.state == domain::JobState::running &&
                          job->second.runs.back().session == session.id;
        return held ? &job->second : nullptr;
    };
    for (const domain::JobId id : request.started)
        if (JobRow* job = held_job(id))
            job->started = true;
    for (const RunProgress& progress : request.progress) {
        JobRow* job = held_job(progress.run.job);
        if (job == nullptr || !job->is_held_under(progress.run.fence))
            continue;
        job->progress_percent = std::clamp(progress.percent, 0, 100);
        job->progress_note = domain::clean_text(progress.note, max_note_bytes);
    }

    Renewal renewal;
    for (const auto& [fence, lease] : row->leases) {
        HeldLease held{.fence = fence, .claim_no = lease.claim_no, .unended = lease.unended};
        for (const domain::JobId id : lease.unended)
            if (tables_.jobs.at(id).cancel_requested)
                held.cancel_requested.push_back(id);
        renewal.leases.push_back(std::move(held));
    }
    return renewal;
}

void Model::end_session(const SessionKey& session, std::string_view reason, base::TimePoint now) {
    if (live_session(session) == nullptr)
        return;
    UpkeepReport unused;
    close_session(session.id, false, reason, {}, now, unused);
}

void Model::close_session(domain::SessionId id, bool counts, std::string_view reason,
                          const domain::CrashTerms& terms, base::TimePoint now,
                          UpkeepReport& report) {
    SessionRow& row = tables_.sessions.at(id);
    row.ended_at = now;
    row.end_reason = domain::clean_text(reason, domain::max_name_bytes);
    const bool alone = row.held() == 1; // taken once: a part that is returned later proves nothing
    std::vector<domain::JobId> held;
    for (const auto& [fence, lease] : row.leases)
        held.insert(held.end(), lease.unended.begin(), lease.unended.end());
    for (const domain::JobId job_id : held) {
        JobRow& job = tables_.jobs.at(job_id);
        lapse(job, {.counts = counts, .named_started = job.started, .alone = alone}, terms, now,
              report);
    }
}

bool Model::forget_session(domain::SessionId id) {
    return tables_.sessions.erase(id) != 0;
}

std::vector<SessionRecord> Model::sessions() const {
    std::vector<SessionRecord> records;
    for (const auto& [id, row] : tables_.sessions) {
        SessionRecord record;
        record.id = id;
        record.worker = row.spec.worker;
        record.host = row.spec.host;
        record.pid = row.spec.pid;
        record.version = row.spec.version;
        record.queues = row.spec.queues;
        record.kinds = row.spec.kinds;
        record.slots = row.spec.slots;
        record.held = row.held();
        for (const auto& [fence, lease] : row.leases)
            record.running += static_cast<int>(std::ranges::count_if(
                lease.unended, [&](domain::JobId job) { return tables_.jobs.at(job).started; }));
        record.started_at = row.started_at;
        record.renewed_at = row.renewed_at;
        record.lease_until = row.lease_until();
        record.ended_at = row.ended_at;
        record.end_reason = row.end_reason;
        records.push_back(std::move(record));
    }
    return records;
}

} // namespace deadman::store::memory
