#include "deadman/store/sqlite/internal/ends.h"

#include <algorithm>

#include "deadman/base/check.h"
#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;
using domain::AnswerKind;
using domain::Outcome;
using domain::Verdict;

constexpr std::string_view reason_cancelled = "cancelled";

// A result must never keep its run from ending: what could not be read back unchanged is left out.
std::string storable_result(const std::string& result) {
    const bool is_good =
        !result.empty() &&
        domain::validate_payload(result, {.max_bytes = domain::largest_result_bytes});
    return is_good ? result : std::string{};
}

std::int64_t due_after(base::TimePoint now, base::Duration delay) {
    return base::to_micros(now + std::clamp(delay, base::Duration{}, domain::latest_time - now));
}

std::string reason_of(const domain::Answer& answer, Outcome outcome) {
    if (outcome == Outcome::succeeded)
        return {};
    if (outcome == Outcome::cancelled)
        return std::string(reason_cancelled);
    std::string reason = domain::clean_text(answer.reason, domain::max_name_bytes);
    if (reason.empty() && outcome == Outcome::failed)
        reason = domain::reason_error;
    return reason;
}

Standing standing_after(WriteContext& context, const LeaseRow& lease, const domain::Answer& answer,
                        Outcome outcome) {
    Standing after = lease.standing;
    after.attempts = domain::spent_after(answer, outcome, after.attempts);
    if (outcome != Outcome::release) // handed back: the handler said nothing
        after.blame = {};
    if (outcome == Outcome::snooze)
        ++after.snoozes;
    if (outcome == Outcome::snooze || outcome == Outcome::retry)
        after.due = due_after(context.now, answer.delay);
    return after;
}

// Whether this very run of this very session had ended before: then an earlier try got through.
bool has_ended_before(Connection& db, const SessionKey& session, const RunKey& run) {
    Cursor found = db.query(
        "SELECT 1 FROM deadman_session WHERE id = ?1 AND key = ?2 AND ("
        "EXISTS (SELECT 1 FROM deadman_done WHERE id = ?3 AND fence = ?4 AND session = ?1 AND NOT "
        "reaped) OR "
        "EXISTS (SELECT 1 FROM deadman_run WHERE job = ?3 AND fence = ?4 AND session = ?1 AND NOT "
        "reaped))",
        session.id.value, session.key, run.job.value, run.fence.value);
    return found.next();
}

int lane_of(const domain::Blame& blame) {
    return domain::is_suspect(blame) ? lane_suspect : lane_returned;
}

bool is_held(const LeaseRow& lease, const SessionKey& session, const RunKey& run) {
    return lease.run.fence == run.fence && lease.session == session.id;
}

Verdict end_run(WriteContext& context, const SessionKey& session, const RunEnd& end, bool is_live) {
    const auto lease = find_lease(context.db, end.run.job);
    if (!lease || !is_held(*lease, session, end.run))
        return has_ended_before(context.db, session, end.run) ? Verdict::repeat : Verdict::fenced;
    if (!is_live)
        return Verdict::fenced;
    apply_answer(context, *lease, end.answer);
    const bool is_news = lease->cancel && end.answer.kind != AnswerKind::cancelled;
    return is_news ? Verdict::cancelled : Verdict::ok;
}

} // namespace

LeaseRow require_lease(Connection& db, domain::JobId job) {
    auto lease = find_lease(db, job);
    DEADMAN_CHECK(lease.has_value());
    return std::move(*lease);
}

Outcome apply_answer(WriteContext& context, const LeaseRow& lease, const domain::Answer& answer) {
    const Outcome outcome =
        domain::decide(answer, lease.standing.attempts, lease.max_attempts, lease.cancel);
    const Standing after = standing_after(context, lease, answer, outcome);
    RunEnding ending;
    ending.outcome = outcome;
    ending.reason = reason_of(answer, outcome);
    ending.message = domain::clean_text(answer.message, domain::largest_message_bytes);
    switch (outcome) {
    case Outcome::succeeded:
        ending.result = storable_result(answer.result);
        [[fallthrough]];
    case Outcome::failed:
    case Outcome::cancelled:
        finish_run(context, lease, ending, after);
        break;
    case Outcome::retry:
    case Outcome::snooze:
        close_run(context, lease, ending, after);
        make_later(context, lease.run.job, lane_returned, after);
        break;
    case Outcome::release:
        close_run(context, lease, ending, after);
        make_ready(context, lease.run.job, lease.queue, lease.priority, lane_of(after.blame),
                   after);
        break;
    case Outcome::running:
    case Outcome::lapse:
        DEADMAN_CHECK(false); // no answer leads here
    }
    return outcome;
}

std::vector<Verdict> end_runs(WriteContext& context, const SessionKey& session,
                              std::span<const RunEnd> ends) {
    const bool is_live = is_live_session(context.db, session);
    std::vector<Verdict> verdicts;
    verdicts.reserve(ends.size());
    for (const RunEnd& end : ends)
        verdicts.push_back(end_run(context, session, end, is_live));
    return verdicts;
}

base::Result<LeaseRow> check_run(Connection& db, const SessionKey& session, const RunKey& run) {
    auto lease = find_lease(db, run.job);
    if (!lease || !is_held(*lease, session, run) || !is_live_session(db, session))
        return base::fail(ErrorCode::fenced, "the run is no longer this session's");
    if (lease->cancel)
        return base::fail(ErrorCode::cancelled, "the job was cancelled");
    return std::move(*lease);
}

void apply_lapse(WriteContext& context, const LeaseRow& lease, const domain::Lapse& lapse,
                 const domain::CrashTerms& terms, UpkeepReport& report) {
    Standing after = lease.standing;
    after.blame = domain::after_lapse(after.blame, lapse);
    RunEnding ending{.outcome = Outcome::lapse, .reaped = true};
    if (lease.cancel) {
        ending.outcome = Outcome::cancelled;
        ending.reason = reason_cancelled;
        finish_run(context, lease, ending, after);
    } else if (domain::is_quarantined(after.blame, terms)) {
        ending.outcome = Outcome::failed;
        ending.reason = domain::reason_quarantined;
        finish_run(context, lease, ending, after);
        ++report.quarantined;
    } else {
        const auto delay = domain::delay_after_lapse(after.blame, lapse, terms);
        if (delay.count() > 0)
            after.due = due_after(context.now, delay);
        close_run(context, lease, ending, after);
        if (delay.count() > 0)
            make_later(context, lease.run.job, lane_of(after.blame), after);
        else
            make_ready(context, lease.run.job, lease.queue, lease.priority, lane_of(after.blame),
                       after);
        ++report.runs_returned;
    }
}

} // namespace deadman::store::sqlite
