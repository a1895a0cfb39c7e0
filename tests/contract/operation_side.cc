#include "tests/contract/operation_side.h"

#include <algorithm>
#include <sstream>

namespace deadman::contract {
namespace {

template <typename T> std::string error_text(const base::Result<T>& result) {
    return result ? "ok" : std::string(base::error_code_name(result.error().code));
}

std::string_view cancel_text(store::CancelAnswer answer) {
    switch (answer) {
    case store::CancelAnswer::cancelled:
        return "cancelled";
    case store::CancelAnswer::requested:
        return "requested";
    case store::CancelAnswer::already_finished:
        return "already_finished";
    case store::CancelAnswer::not_found:
        return "not_found";
    case store::CancelAnswer::unknown:
        return "unknown";
    }
    return "?";
}

} // namespace

OperationSide::OperationSide(const FixtureFactory& make, const domain::LeaseTerms& terms)
    : fixture_(make()) {
    upkeep_.terms = terms;
    value(fixture_->open());
    leadership_ = value(store().try_lead());
    value(leadership_->sweep(upkeep_));
}

store::JobStore& OperationSide::store() const {
    return fixture_->store();
}

std::string OperationSide::name_of(domain::JobId id) const {
    const auto number = job_numbers_.find(id);
    return number == job_numbers_.end() ? "job ?" : "job " + std::to_string(number->second);
}

std::size_t OperationSide::session_of(std::size_t run) const {
    return run_sessions_.at(run);
}

std::size_t OperationSide::job_of(std::size_t run) const {
    return job_numbers_.at(runs_.at(run).job);
}

bool OperationSide::is_solo(std::size_t run) const {
    return run_solo_.at(run);
}

std::string OperationSide::enqueue(const std::vector<domain::JobSpec>& specs) {
    const auto enqueued = store().enqueue(specs);
    if (!enqueued)
        return error_text(enqueued);
    std::ostringstream text;
    for (const store::Enqueued& one : *enqueued) {
        if (one.is_new) {
            job_numbers_[one.id] = jobs_.size();
            jobs_.push_back(one.id);
        }
        text << name_of(one.id) << (one.is_new ? " new" : "") << (one.replayed ? " replayed" : "")
             << "; ";
    }
    return text.str();
}

std::string OperationSide::open_session() {
    store::SessionSpec spec;
    spec.worker = "worker " + std::to_string(sessions_.size());
    spec.terms = upkeep_.terms;
    const auto session = store().register_session(spec);
    if (session)
        sessions_.push_back(*session);
    return error_text(session);
}

// The order within a claim is the store's; runs are numbered by job, so that all sides agree.
void OperationSide::note_claimed(std::size_t session, std::vector<store::Claimed> claimed) {
    std::ranges::sort(claimed, {}, [](const store::Claimed& one) { return one.run.job; });
    for (const store::Claimed& one : claimed) {
        runs_.push_back(one.run);
        run_sessions_.push_back(session);
        run_solo_.push_back(one.solo);
    }
}

std::string OperationSide::claim(const PlannedClaim& plan) {
    const auto claimed = store().claim(sessions_.at(plan.session).key, plan.request);
    if (!claimed)
        return error_text(claimed);
    std::vector<std::string> lines;
    for (const store::Claimed& one : *claimed) {
        std::ostringstream line;
        line << name_of(one.run.job) << " of " << one.queue << " attempts " << one.attempts_spent
             << " blame " << one.blame.lapse_score << '/' << one.blame.crashes;
        lines.push_back(line.str());
    }
    std::ranges::sort(lines);
    note_claimed(plan.session, *claimed);
    std::string text;
    for (const std::string& line : lines)
        text += line + "; ";
    return text;
}

std::string OperationSide::read_claim(const PlannedClaim& plan) {
    const auto claimed =
        store().claim_result(sessions_.at(plan.session).key, plan.request.claim_no);
    if (!claimed)
        return error_text(claimed);
    std::vector<std::string> names;
    for (const store::Claimed& one : *claimed)
        names.push_back(name_of(one.run.job));
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names)
        text += name + "; ";
    return text;
}

std::string OperationSide::complete(std::size_t session, const std::vector<PlannedEnd>& planned) {
    std::vector<store::RunEnd> ends;
    for (const PlannedEnd& end : planned)
        ends.push_back({runs_.at(end.run), end.answer});
    const auto verdicts = store().complete(sessions_.at(session).key, ends);
    if (!verdicts)
        return error_text(verdicts);
    std::string text;
    for (const domain::Verdict verdict : *verdicts)
        text += std::string(domain::verdict_name(verdict)) + "; ";
    return text;
}

std::string OperationSide::transact(std::size_t session, std::size_t run,
                                    const std::string& effect) {
    return error_text(store().transact(sessions_.at(session).key, runs_.at(run), R"({"by":"tx"})",
                                       [&](store::EffectTransaction& transaction) {
                                           return fixture_->write_effect(transaction, effect);
                                       }));
}

std::string OperationSide::transact_in_vain(std::size_t session, std::size_t run) {
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(fixture_->write_effect(transaction, "in vain"));
        return base::fail(base::ErrorCode::exhausted, "planned");
    };
    return error_text(store().transact(sessions_.at(session).key, runs_.at(run), {}, body));
}

std::string OperationSide::renew(std::size_t session, const std::vector<std::size_t>& started) {
    store::RenewRequest request;
    for (const std::size_t run : started)
        request.started.push_back(runs_.at(run).job);
    const auto renewal = store().renew(sessions_.at(session).key, request);
    if (!renewal)
        return error_text(renewal);
    std::vector<std::string> lines;
    for (const store::HeldLease& lease : renewal->leases) {
        const std::string claim = " of claim " + std::to_string(lease.claim_no);
        for (const domain::JobId id : lease.unended)
            lines.push_back(name_of(id) + claim);
        for (const domain::JobId id : lease.cancel_requested)
            lines.push_back(name_of(id) + claim + " to cancel");
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines)
        text += line + "; ";
    return text;
}

std::string OperationSide::end_session(std::size_t session) {
    return error_text(store().end_session(sessions_.at(session).key, "planned"));
}

std::string OperationSide::cancel(std::size_t job) {
    const auto answer = store().cancel(jobs_.at(job));
    return answer ? std::string(cancel_text(*answer)) : error_text(answer);
}

std::string OperationSide::retry(std::size_t job) {
    return error_text(store().retry(jobs_.at(job)));
}

std::string OperationSide::remove(std::size_t job) {
    return error_text(store().remove(jobs_.at(job)));
}

std::string OperationSide::pause(const std::string& queue) {
    return error_text(store().pause_queue(queue));
}

std::string OperationSide::resume(const std::string& queue) {
    return error_text(store().resume_queue(queue));
}

std::string OperationSide::tick() {
    fixture_->advance(upkeep_.terms.sweep);
    const auto report = leadership_->sweep(upkeep_);
    if (!report)
        return error_text(report);
    std::ostringstream text;
    text << "leads " << report->still_leader << " grace " << report->grace << " lapsed "
         << report->sessions_lapsed << " quarantined " << report->quarantined << " promoted "
         << report->promoted;
    return text.str();
}

std::string OperationSide::describe_job(std::size_t job) {
    std::ostringstream text;
    text << name_of(jobs_[job]) << ": ";
    const auto found = value(store().find(jobs_[job]));
    if (!found)
        return text.str() + "gone";
    text << domain::job_state_name(found->state) << " attempts " << found->attempts_spent << '/'
         << found->max_attempts << " blame " << found->blame.lapse_score << '/'
         << found->blame.crashes << " snoozes " << found->snoozes << " cancel "
         << found->cancel_requested << " reason '" << found->reason << "' message '"
         << found->message << "' result '" << found->result << "' finished "
         << found->finished_at.has_value() << " worker '" << found->worker << "' runs";
    for (const store::RunRecord& run : value(store().runs(jobs_[job])))
        if (run.claimed_at) // a job that was cancelled before it started has no run
            text << ' ' << domain::outcome_name(run.outcome) << '(' << run.attempts_spent << ')';
    return text.str();
}

std::string OperationSide::whole_state() {
    std::ostringstream text;
    text << "outstanding " << value(store().count_outstanding()) << '\n';
    for (std::size_t job = 0; job < jobs_.size(); ++job)
        text << describe_job(job) << '\n';
    for (const store::QueueRecord& queue : value(store().queues()))
        if (queue.pending + queue.scheduled + queue.running > 0 || queue.paused)
            text << "queue " << queue.name << " paused " << queue.paused << " pending "
                 << queue.pending << " scheduled " << queue.scheduled << " running "
                 << queue.running << '\n';
    text << "listed";
    for (const store::JobRecord& job : value(store().list({.limit = 1'000})).jobs)
        text << ' ' << job_numbers_.at(job.id);
    text << "\neffects";
    for (const std::string& effect : fixture_->effects())
        text << ' ' << effect;
    return text.str();
}

int OperationSide::held_by(std::size_t session) {
    for (const store::SessionRecord& record : value(store().sessions()))
        if (record.id == sessions_.at(session).key.id)
            return record.held;
    return 0;
}

int OperationSide::pending_suspects(const std::string& queue) {
    const store::JobFilter filter{
        .states = {domain::JobState::pending}, .queue = queue, .limit = 1'000};
    const auto page = value(store().list(filter));
    return static_cast<int>(std::ranges::count_if(
        page.jobs, [](const auto& job) { return domain::is_suspect(job.blame); }));
}

} // namespace deadman::contract
