#pragma once
// The domain's ids. 64 bits everywhere; decimal strings at the API.

#include "deadman/base/ids.h"

namespace deadman::domain {

struct JobTag;
struct FenceTag;
struct SessionTag;

using JobId = base::StrongId<JobTag>;

/// The id of one claim, from one sequence: for any job it only grows. A write that names an older
/// one is refused.
using Fence = base::StrongId<FenceTag>;

/// One life of one worker process.
using SessionId = base::StrongId<SessionTag>;

} // namespace deadman::domain
