#include "deadman/store/sqlite/internal/checkpoints.h"

#include <optional>
#include <utility>

#include <sqlite3.h>

#include "deadman/platform/file_lock.h"

namespace deadman::store::sqlite {

Checkpoints::Checkpoints(ConnectionOptions options) : options_(std::move(options)) {}

base::Status Checkpoints::open() {
    if (blocker_ && copier_)
        return {};
    DEADMAN_TRY(blocker_, Connection::open(options_));
    DEADMAN_TRY(copier_, Connection::open(options_));
    copier_->set_busy_patience({});
    return {};
}

base::Result<CheckpointReport> Checkpoints::run() {
    DEADMAN_TRY_STATUS(open());
    DEADMAN_TRY(const auto owner, platform::FileLock::try_acquire(options_.path + ".owner"));
    CheckpointReport report{.is_owner = owner.has_value()};
    if (!report.is_owner)
        return report;
    try {
        const WriteTransaction writers_out(*blocker_);
        const int code =
            sqlite3_wal_checkpoint_v2(copier_->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE,
                                      &report.log_pages, &report.copied_pages);
        if (code != SQLITE_OK)
            throw SqliteFailure{code, sqlite3_errmsg(copier_->handle())};
    } catch (const SqliteFailure& failure) {
        return translate_sqlite(failure, Moment::statement);
    }
    return report;
}

} // namespace deadman::store::sqlite
