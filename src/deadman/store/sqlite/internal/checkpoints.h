#pragma once
// Checkpoints: copying the log back into the file, one process at a time and with all writers out.
//
// Contract:      SQLite before 3.51.3 can lose committed pages where a commit runs beside a
// checkpoint
//                (the WAL-reset bug). So: whoever holds the owner's lock file takes the write lock
//                on one connection, checkpoints on a second one, and lets go. No other connection
//                ever does.
// Thread-safety: one thread at a time.

#include <memory>
#include <string>

#include "deadman/base/result.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

struct CheckpointReport {
    bool is_owner = false; // false: another process is at it
    int log_pages = 0;
    int copied_pages = 0; // fewer than log_pages while a reader holds an old snapshot
};

class Checkpoints {
  public:
    explicit Checkpoints(ConnectionOptions options);

    base::Result<CheckpointReport> run();

  private:
    base::Status open();

    ConnectionOptions options_;
    std::unique_ptr<Connection> blocker_;
    std::unique_ptr<Connection> copier_;
};

} // namespace deadman::store::sqlite
