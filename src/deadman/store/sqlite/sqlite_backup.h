#pragma once
// Backup of a SQLite store that is in use.
//
// Contract:      the copy is the store as it was at one instant, all of it in one file, checked and
//                on disk when the call returns. Nobody waits for it: writers go on, and only the
//                log cannot start anew before the copy is done. What was there under the target's
//                name is never touched; a copy that did not get ready leaves nothing.
// Thread-safety: safe for concurrent use, also beside processes that use the store.
// Blocking:      for as long as the copying takes.
// Errors:        not_found: no store there. already_exists: the target. cancelled: on_progress said
//                so. exhausted: no room for the copy. internal: the copy is damaged, so the store
//                is.
// Source:        docs/OPERATING.md.

#include <cstdint>
#include <functional>
#include <string>

#include "deadman/base/result.h"

namespace deadman::store {

struct SqliteBackupOptions {
    int pages_per_step = 256;
    /// Asked after each step, with how many of how many bytes are copied; false: give up.
    std::function<bool(std::uint64_t copied, std::uint64_t total)> on_progress;
};

struct SqliteBackupReport {
    std::uint64_t bytes = 0;
};

base::Result<SqliteBackupReport> back_up_sqlite(const std::string& path, const std::string& target,
                                                const SqliteBackupOptions& options = {});

} // namespace deadman::store
