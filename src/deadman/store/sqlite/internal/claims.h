#pragma once
// Claims: from ready into leases, in batches.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "deadman/store/job_types.h"
#include "deadman/store/session.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

/// Errors that need no write lock to be told: fenced, conflict, invalid_argument. False: nothing is
/// claimable. It spares idle workers the write lock; claim_jobs decides.
base::Result<bool> may_claim(Connection& db, const SessionKey& session,
                             const ClaimRequest& request);

/// REQUIRES: within a write transaction.
base::Result<std::vector<Claimed>> claim_jobs(WriteContext& context, const SessionKey& session,
                                              const ClaimRequest& request);

base::Result<std::vector<Claimed>> read_claim(Connection& db, const SessionKey& session,
                                              std::int64_t claim_no);

/// Whether any of the queues, not paused, has work for everybody (lanes 0 and 1).
bool has_claimable(Connection& db, std::span<const std::string> queues);

/// ... or a suspect.
bool has_suspect(Connection& db, std::span<const std::string> queues);

} // namespace deadman::store::sqlite
