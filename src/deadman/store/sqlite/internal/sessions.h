#pragma once
// Worker sessions: register, renew, end, list.

#include <string_view>
#include <vector>

#include "deadman/store/maintenance.h"
#include "deadman/store/session.h"
#include "deadman/store/sqlite/internal/session_locks.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

base::Status check_session_spec(const SessionSpec& spec);

/// REQUIRES (of all that take a WriteContext): within a write transaction.
Session register_session(WriteContext& context, const SessionSpec& spec, SessionLocks& locks);

base::Result<Renewal> renew(WriteContext& context, const SessionKey& session,
                            const RenewRequest& request);

/// What it holds returns without blame.
void end_session(WriteContext& context, const SessionKey& session, std::string_view reason);

std::vector<SessionRecord> list_sessions(Connection& db, base::TimePoint now);

/// How long an ended session is shown.
inline constexpr base::Duration ended_session_life = std::chrono::hours(1);

} // namespace deadman::store::sqlite
