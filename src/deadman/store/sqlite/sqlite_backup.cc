#include "deadman/store/sqlite/sqlite_backup.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <sqlite3.h>

#include "deadman/base/random.h"
#include "deadman/platform/paths.h"
#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/farewell.h"
#include "deadman/store/sqlite/internal/file_watch.h"
#include "deadman/store/sqlite/internal/schema.h"

namespace deadman::store {
namespace {

using base::ErrorCode;
using base::Status;
using sqlite::Connection;
using sqlite::Moment;
using sqlite::SqliteFailure;

/// A file that is removed again, with what SQLite puts beside it, unless it was published.
class Draft {
  public:
    explicit Draft(const std::string& target)
        : path_(target + ".unfinished-" + base::random_hex(6)) {}

    ~Draft() {
        std::error_code ignored;
        for (const char* suffix : {"", "-journal", "-wal", "-shm"})
            std::filesystem::remove(path_ + suffix, ignored);
    }

    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

    const std::string& path() const {
        return path_;
    }

  private:
    std::string path_;
};

struct FinishBackup {
    void operator()(sqlite3_backup* backup) const {
        sqlite3_backup_finish(backup);
    }
};

// The source is within a transaction: its pages do not change under the steps, which would make
// SQLite begin anew.
Status copy_pages(Connection& source, Connection& target, const SqliteBackupOptions& options,
                  std::uint64_t page_bytes) {
    const std::unique_ptr<sqlite3_backup, FinishBackup> backup(
        sqlite3_backup_init(target.handle(), "main", source.handle(), "main"));
    if (!backup)
        throw SqliteFailure{sqlite3_extended_errcode(target.handle()),
                            sqlite3_errmsg(target.handle())};
    for (int code = SQLITE_OK; code != SQLITE_DONE;) {
        code = sqlite3_backup_step(backup.get(), options.pages_per_step);
        if (code != SQLITE_OK && code != SQLITE_DONE)
            throw SqliteFailure{code, sqlite3_errstr(code)};
        const auto total = static_cast<std::uint64_t>(sqlite3_backup_pagecount(backup.get()));
        const auto left = static_cast<std::uint64_t>(sqlite3_backup_remaining(backup.get()));
        if (options.on_progress &&
            !options.on_progress((total - left) * page_bytes, total * page_bytes))
            return base::fail(ErrorCode::cancelled, "the backup was given up");
    }
    return {};
}

std::uint64_t page_bytes_of(Connection& db) {
    sqlite::Cursor row = db.query("PRAGMA page_size");
    return row.next() ? static_cast<std::uint64_t>(row.integer(0)) : 0;
}

Status check_copy(Connection& copy) {
    sqlite::Cursor row = copy.query("PRAGMA quick_check(1)");
    const std::string answer = row.next() ? row.text(0) : "no answer";
    if (answer != "ok")
        return base::fail(ErrorCode::internal, "the copy is damaged, and so is what it was made "
                                               "from: " +
                                                   answer);
    return {};
}

// Written without a journal: half a copy is worth nothing, and the whole is synced at the end.
Status copy_into(Connection& source, const std::string& draft, const SqliteBackupOptions& options) {
    DEADMAN_TRY(const auto target,
                Connection::open({.path = draft, .durable = false, .may_create = true}));
    target->run("PRAGMA journal_mode = OFF");
    target->run("PRAGMA synchronous = OFF");
    const std::uint64_t page_bytes = page_bytes_of(source);
    source.run("BEGIN");
    const Status copied = copy_pages(source, *target, options, page_bytes);
    source.roll_back();
    return copied;
}

Status make_copy(Connection& source, const std::string& draft, const SqliteBackupOptions& options) {
    try {
        DEADMAN_TRY_STATUS(copy_into(source, draft, options));
        DEADMAN_TRY(const auto copy, Connection::open({.path = draft, .read_only = true}));
        DEADMAN_TRY_STATUS(check_copy(*copy));
        copy->set_checkpoint_at_close(true); // leaves no log beside it
        return {};
    } catch (const SqliteFailure& failure) {
        return translate_sqlite(failure, Moment::statement);
    }
}

// What is no store is not touched.
base::Result<std::unique_ptr<Connection>> open_source(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error))
        return base::fail(ErrorCode::not_found, "there is no store at " + path);
    DEADMAN_TRY(auto source, Connection::open({.path = path}));
    try {
        if (sqlite::stored_schema_version(*source) == 0)
            return base::fail(ErrorCode::not_found, path + " holds no store");
    } catch (const SqliteFailure& failure) {
        return translate_sqlite(failure, Moment::statement);
    }
    return source;
}

Status check_target(const std::string& target) {
    std::error_code error;
    for (const char* suffix : {"", "-wal", "-journal"})
        if (std::filesystem::exists(std::filesystem::symlink_status(target + suffix, error)))
            return base::fail(ErrorCode::already_exists,
                              target + suffix + " is there already: a backup overwrites nothing");
    return {};
}

} // namespace

base::Result<SqliteBackupReport> back_up_sqlite(const std::string& path, const std::string& target,
                                                const SqliteBackupOptions& options) {
    DEADMAN_TRY_STATUS(check_target(target));
    const std::string real = sqlite::real_path(path);
    sqlite::FileWatch watch(real, real);
    DEADMAN_TRY_STATUS(watch.check_before_opening());
    DEADMAN_TRY(auto opened, open_source(real));
    Connection& source = *opened;
    const Draft draft(target);
    {
        DEADMAN_TRY_STATUS(watch.remember(source));
        const sqlite::Farewell farewell(std::move(opened), real, watch);
        DEADMAN_TRY_STATUS(make_copy(source, draft.path(), options));
        DEADMAN_TRY_STATUS(watch.check());
    }
    DEADMAN_TRY_STATUS(platform::publish_file(draft.path(), target));
    std::error_code error;
    const auto bytes = std::filesystem::file_size(target, error);
    return SqliteBackupReport{.bytes = error ? 0 : bytes};
}

} // namespace deadman::store
