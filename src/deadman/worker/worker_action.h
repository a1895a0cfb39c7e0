#pragma once
// What a WorkerCore asks its surroundings to do. Calls carry the session they are for and a number
// that comes back with the answer, so that an answer which arrives late is told from the one
// awaited.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "deadman/base/time.h"
#include "deadman/domain/outcome.h"
#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::worker {

/// Why a handler is asked to stop. It also decides what becomes of the run, whatever the handler
/// says from then on.
enum class StopWhy {
    cancelled,       // an operator cancelled the job
    timeout,         // the run's time is over: an attempt is spent
    lease_uncertain, // nobody knows whether the run is still ours: handed back
    drain,           // the worker leaves: handed back
};

std::string_view stop_why_name(StopWhy why);

struct Register {
    store::SessionSpec spec;
};

struct Renew {
    store::SessionKey session;
    std::int64_t renew_no = 0;
    store::RenewRequest request;
};

struct Claim {
    store::SessionKey session;
    store::ClaimRequest request;
};

struct ReadBackClaim {
    store::SessionKey session;
    std::int64_t claim_no = 0;
};

struct Complete {
    store::SessionKey session;
    std::int64_t batch_no = 0;
    std::vector<store::RunEnd> ends;
};

/// Ends the session: what it still holds returns without blame.
struct EndSession {
    store::SessionKey session;
    std::string reason;
};

/// Wait for work, at most `patience`; then WorkerCore::woken.
struct Idle {
    std::vector<std::string> queues;
    base::Duration patience{};
};

struct StartRun {
    store::SessionKey session;
    store::Claimed claimed;
    base::SteadyTime deadline = base::SteadyTime::max();
};

struct StopRun {
    store::RunKey run;
    StopWhy why = StopWhy::cancelled;
};

/// The handler did not stop in time: its run is ended without it, and what it still does counts for
/// nothing. It keeps its slot until it returns (then WorkerCore::run_finished, as ever).
struct AbandonRun {
    store::RunKey run;
};

/// A handler still runs although its lease may be over: only the end of the process stops it.
struct LeaveProcess {
    std::string why;
};

/// Nothing more will be asked for. `handlers_left`: abandoned ones that never returned.
struct Finished {
    int handlers_left = 0;
};

enum class ReportKind {
    session_started,
    session_lost, // the store says that it has ended
    session_ended,
    lease_uncertain, // no renewal was acknowledged for too long: the worker fences itself
    run_ended,       // the store has recorded an end; `verdict` says how
    lease_lost,      // the run was not ours any more; `detail` says why
    run_abandoned,   // a slot is lost ...
    slot_regained,   // ... and found again
    orphan_adopted,
    call_failed, // a call to the store failed and will be tried again
    drain_started,
    drain_forced,
};

std::string_view report_kind_name(ReportKind kind);

/// Something worth a line in the log or a look from a test.
struct Report {
    ReportKind kind = ReportKind::run_ended;
    store::RunKey run;
    domain::AnswerKind answer = domain::AnswerKind::succeeded; // run_ended: what was sent ...
    domain::Verdict verdict = domain::Verdict::ok;             // ... and what came of it
    bool in_transaction = false; // run_ended: it had ended in the handler's own transaction
    std::string detail;
};

using Action = std::variant<Register, Renew, Claim, ReadBackClaim, Complete, EndSession, Idle,
                            StartRun, StopRun, AbandonRun, LeaveProcess, Finished, Report>;
using Actions = std::vector<Action>;

} // namespace deadman::worker
