#pragma once
// How runs end: by an answer, or because their session did.

#include <span>
#include <vector>

#include "deadman/domain/blame.h"
#include "deadman/store/job_types.h"
#include "deadman/store/maintenance.h"
#include "deadman/store/sqlite/internal/moves.h"

namespace deadman::store::sqlite {

/// REQUIRES (all): within a write transaction.
std::vector<domain::Verdict> end_runs(WriteContext& context, const SessionKey& session,
                                      std::span<const RunEnd> ends);

/// The run is this session's, goes on, and is not cancelled; else fenced or cancelled.
base::Result<LeaseRow> check_run(Connection& db, const SessionKey& session, const RunKey& run);

/// Ends a run by the answer of its handler, whatever session asks.
domain::Outcome apply_answer(WriteContext& context, const LeaseRow& lease,
                             const domain::Answer& answer);

/// Ends a run because its session ended. Adds to the report.
void apply_lapse(WriteContext& context, const LeaseRow& lease, const domain::Lapse& lapse,
                 const domain::CrashTerms& terms, UpkeepReport& report);

/// The lease of a job that is known to run.
LeaseRow require_lease(Connection& db, domain::JobId job);

} // namespace deadman::store::sqlite
