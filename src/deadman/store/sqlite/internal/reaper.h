#pragma once
// The steps of a sweep, each one within a write transaction.

#include <string_view>
#include <vector>

#include "deadman/store/maintenance.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

/// What the reaper knows of time: whether sessions may be reaped, and whom a lapse may blame.
struct Grace {
    bool is_on = false;
    std::int64_t from_steady = 0; // sessions not heard of since are never blamed
};

/// Starts the clock of the first sweep; does nothing after that.
void begin_ticking(WriteContext& context);

/// Writes the tick. A gap since the last one, another boot, or a `stall` of this sweep's own starts
/// a time of grace.
Grace tick(WriteContext& context, const domain::LeaseTerms& terms, base::Duration stall);

/// Marks for good the live sessions that are past their lease (not in grace), whose boot is over,
/// or that are among `dead`.
void mark_lapsed(WriteContext& context, const Grace& grace,
                 const std::vector<domain::SessionId>& dead, UpkeepReport& report);

/// Returns up to `request.batch` runs of lapsed sessions, and of sessions that are not on record at
/// all. True: there may be more.
bool return_runs(WriteContext& context, const UpkeepRequest& request, UpkeepReport& report);

bool promote_due(WriteContext& context, int batch, UpkeepReport& report);

/// Finished jobs past their retention; ended sessions and idempotency keys past theirs.
bool prune(WriteContext& context, const UpkeepRequest& request, UpkeepReport& report);

} // namespace deadman::store::sqlite
