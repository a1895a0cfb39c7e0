#include "deadman/store/sqlite/internal/checkpoints.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <sqlite3.h>

#include "deadman/platform/file_lock.h"

namespace deadman::store::sqlite {
namespace {

// Each round copies what was committed during the one before; on a disk that keeps up they shrink.
constexpr int most_rounds = 4;

/// A snapshot of the log as it is now: while it lives the log cannot start anew.
class PinnedLog {
  public:
    // Only a log that holds something uncopied is read from; so something is committed first. That
    // it stays uncopied until then is the owner's lock's doing.
    explicit PinnedLog(Connection& connection) : connection_(connection) {
        {
            WriteTransaction transaction(connection);
            connection.run("INSERT INTO deadman_sequence (name, value) VALUES ('checkpoint', 1) "
                           "ON CONFLICT (name) DO UPDATE SET value = value + 1");
            transaction.commit();
        }
        connection.run("BEGIN");
        connection.run("SELECT value FROM deadman_sequence WHERE name = 'checkpoint'");
    }

    ~PinnedLog() {
        connection_.roll_back();
    }

    PinnedLog(const PinnedLog&) = delete;
    PinnedLog& operator=(const PinnedLog&) = delete;

  private:
    Connection& connection_;
};

} // namespace

Checkpoints::Checkpoints(ConnectionOptions options, FileWatch& watch)
    : options_(std::move(options)), watch_(watch) {}

base::Status Checkpoints::open() {
    if (blocker_ && copier_)
        return {};
    DEADMAN_TRY(blocker_, watch_.open(options_));
    DEADMAN_TRY(copier_, watch_.open(options_));
    copier_->set_busy_patience({});
    return {};
}

base::Result<CheckpointReport> Checkpoints::run(int log_pages, int most_blocking) {
    DEADMAN_TRY_STATUS(open());
    DEADMAN_TRY(const auto owner, platform::FileLock::try_acquire(options_.path + ".owner"));
    CheckpointReport report{.is_owner = owner.has_value(), .log_pages = log_pages};
    if (!report.is_owner)
        return report;
    try {
        for (int before = -1; report.rounds_beside_writers < most_rounds &&
                              report.log_pages - report.copied_pages > most_blocking &&
                              report.copied_pages > before;) {
            DEADMAN_TRY_STATUS(watch_.check());
            before = report.copied_pages;
            copy_beside_writers(report);
        }
        const WriteTransaction writers_out(*blocker_);
        DEADMAN_TRY_STATUS(watch_.check());
        copy_all(report);
    } catch (const SqliteFailure& failure) {
        return translate_sqlite(failure, Moment::statement);
    }
    return report;
}

void Checkpoints::copy(CheckpointReport& report) {
    const int code =
        sqlite3_wal_checkpoint_v2(copier_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                  &report.log_pages, &report.copied_pages);
    if (code != SQLITE_OK)
        throw SqliteFailure{code, sqlite3_errmsg(copier_->handle())};
}

// SQLite syncs the database when all of the log is copied: so the bulk of that is done here too,
// while nobody waits.
void Checkpoints::copy_beside_writers(CheckpointReport& report) {
    const PinnedLog pinned(*blocker_);
    copy(report);
    sync_database();
    ++report.rounds_beside_writers;
}

// Readers let the log be copied as far as it went when they began, and one that began on an empty
// log lets nothing be copied. Most end at once; for one that stays, the next checkpoints wait less.
void Checkpoints::copy_all(CheckpointReport& report) {
    copy(report);
    for (int nap = 0; nap < naps_ && report.copied_pages < report.log_pages; ++nap) {
        sqlite3_sleep(1);
        copy(report);
    }
    const bool is_complete = report.copied_pages == report.log_pages;
    const bool is_stuck = !is_complete && report.copied_pages == stuck_at_;
    stuck_at_ = is_complete ? -1 : report.copied_pages;
    naps_ = is_stuck ? std::max(naps_ / 2, 1) : most_naps;
    if (is_complete)
        let_readers_leave();
}

// The next commit starts the log anew only if nobody reads from it at that moment. Readers that
// come now, with all of it copied, do not; so it is enough to have seen it without any.
void Checkpoints::let_readers_leave() {
    constexpr int first_slot = 4; // of those who read from the log, as SQLite numbers its locks
    constexpr int slots = SQLITE_SHM_NLOCK - first_slot;
    sqlite3_file* const file = database_file();
    if (file == nullptr || file->pMethods->iVersion < 2)
        return;
    for (int nap = 0; nap < most_naps; ++nap) {
        if (file->pMethods->xShmLock(file, first_slot, slots,
                                     SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE) == SQLITE_OK) {
            file->pMethods->xShmLock(file, first_slot, slots,
                                     SQLITE_SHM_UNLOCK | SQLITE_SHM_EXCLUSIVE);
            return;
        }
        sqlite3_sleep(1);
    }
}

sqlite3_file* Checkpoints::database_file() {
    sqlite3_file* file = nullptr;
    sqlite3_file_control(copier_->handle(), nullptr, SQLITE_FCNTL_FILE_POINTER,
                         static_cast<void*>(&file));
    return file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

void Checkpoints::sync_database() {
    sqlite3_file* const file = database_file();
    if (file == nullptr)
        return;
    if (const int code = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL); code != SQLITE_OK)
        throw SqliteFailure{code, "cannot sync the database"};
}

} // namespace deadman::store::sqlite
