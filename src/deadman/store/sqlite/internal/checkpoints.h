#pragma once
// Checkpoints: copying the log back into the file, one process at a time.
//
// Contract:      SQLite before 3.51.3 can lose committed pages where a commit starts the log anew
//                while a checkpoint runs (the WAL-reset bug). So only the holder of the owner's
//                lock file checkpoints, and never so that the log could start anew meanwhile: it
//                takes the write lock on one connection, checkpoints on a second one, and lets go.
//                Most of a long log is copied before that, beside the writers, while a third
//                connection reads from that log: SQLite starts no log anew that somebody reads.
//                No other connection ever checkpoints, but for a process's farewell.
// Thread-safety: one thread at a time.
// Blocking:      writers wait while the last pages are copied and synced.

#include <memory>
#include <string>

#include "deadman/base/result.h"
#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/file_watch.h"

struct sqlite3_file;

namespace deadman::store::sqlite {

struct CheckpointReport {
    bool is_owner = false; // false: another process is at it
    int log_pages = 0;
    int copied_pages = 0; // fewer than log_pages while a reader holds an old snapshot
    int rounds_beside_writers = 0;
};

class Checkpoints {
  public:
    Checkpoints(ConnectionOptions options, FileWatch& watch);

    /// While more than `most_blocking` pages are to be copied, writers are let in.
    base::Result<CheckpointReport> run(int log_pages, int most_blocking);

  private:
    static constexpr int most_naps = 50; // of a millisecond

    base::Status open();
    void copy(CheckpointReport& report);
    void copy_all(CheckpointReport& report);
    void let_readers_leave();
    sqlite3_file* database_file();
    void copy_beside_writers(CheckpointReport& report);
    void sync_database();

    ConnectionOptions options_;
    FileWatch& watch_;
    std::unique_ptr<Connection> blocker_;
    std::unique_ptr<Connection> copier_;
    int naps_ = most_naps; // that are taken at most for readers to leave
    int stuck_at_ = -1;    // how far one reader has let us copy, the last time
};

} // namespace deadman::store::sqlite
