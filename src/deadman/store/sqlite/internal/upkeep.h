#pragma once
// Leadership and the sweep: tick, reap, promote, prune.
//
// Contract:      store/maintenance.h. The leader holds a lock file; where its holder was stopped, a
// row
//                past its expiry lets another lead.

#include <memory>
#include <string>

#include "deadman/base/clock.h"
#include "deadman/platform/file_lock.h"
#include "deadman/store/maintenance.h"
#include "deadman/store/sqlite/internal/readers.h"
#include "deadman/store/sqlite/internal/session_locks.h"
#include "deadman/store/sqlite/internal/writer.h"

namespace deadman::store::sqlite {

/// What upkeep works with; all of it outlives the Leadership.
struct UpkeepTools {
    std::string database_path;
    base::Clock& clock;
    Writer& writer;
    Readers& readers;
    SessionLocks& locks;
};

base::Result<std::unique_ptr<Leadership>> try_lead(const UpkeepTools& tools);

} // namespace deadman::store::sqlite
