#pragma once
// The key of one run: what a handler's own database session proves with that it acts for this run.
// It opens this run and no other, and says nothing of the session's key that it is made from.
//
// Contract: the same as deadman.run_key() in Postgres. Hexadecimal SHA-256 over
//           "<session key>:<job>:<fence>".

#include <string>

#include "deadman/store/job_types.h"
#include "deadman/store/session.h"

namespace deadman::worker::internal {

std::string run_key(const store::SessionKey& session, const store::RunKey& run);

} // namespace deadman::worker::internal
