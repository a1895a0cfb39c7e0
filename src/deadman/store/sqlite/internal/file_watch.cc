#include "deadman/store/sqlite/internal/file_watch.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <sqlite3.h>

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;

bool has_moved(Connection& connection) {
    int has_moved = 0;
    sqlite3_file_control(connection.handle(), nullptr, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    return has_moved != 0;
}

} // namespace

std::string real_path(const std::string& path) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
    return error ? path : real.string();
}

FileWatch::FileWatch(std::string named, const std::string& path)
    : files_{{{std::move(named), {}}, {path + "-wal", {}}, {path + "-shm", {}}}} {}

// SQLite would delete the log of an empty database.
base::Status FileWatch::check_before_opening() const {
    const std::string& path = files_[0].path;
    // In this order: whoever makes a new one makes the log last.
    const auto log = platform::identify_file(files_[1].path);
    const auto database = platform::identify_file(path);
    if ((database && database->bytes > 0) || !log || log->bytes == 0)
        return {};
    return base::fail(ErrorCode::conflict,
                      "there is no database at " + path + ", but its log is there (" +
                          files_[1].path + ", " + std::to_string(log->bytes) +
                          " bytes): the database was moved or removed without it. Put the "
                          "database back beside its log; to begin anew, remove the log first");
}

base::Status FileWatch::remember(Connection& connection) {
    const std::lock_guard lock(mutex_);
    for (Watched& watched : files_) {
        const auto identity = platform::identify_file(watched.path);
        if (!identity)
            return moved(watched, true);
        watched.identity = *identity;
    }
    if (has_moved(connection))
        return moved(files_[0], false);
    return {};
}

base::Status FileWatch::check() {
    const std::lock_guard lock(mutex_);
    for (Watched& watched : files_) {
        const auto now = platform::identify_file(watched.path);
        if (now && now->is_same_file(watched.identity))
            continue;
        was_away_ = true;
        return moved(watched, !now);
    }
    Watched& database = files_[0];
    const auto now = platform::identify_file(database.path);
    if (!now)
        return moved(database, true);
    if (was_away_ && !now->is_untouched(database.identity))
        return base::fail(ErrorCode::unavailable,
                          database.path + " was moved away and is back, but somebody has written "
                                          "to it meanwhile: restart this process");
    was_away_ = false;
    database.identity = *now;
    return {};
}

base::Result<std::unique_ptr<Connection>> FileWatch::open(const ConnectionOptions& options) {
    DEADMAN_TRY_STATUS(check());
    DEADMAN_TRY(auto connection, Connection::open(options));
    DEADMAN_TRY_STATUS(check());
    return connection;
}

base::Error FileWatch::moved(const Watched& watched, bool is_gone) const {
    const std::string what = is_gone
                                 ? " was moved or removed while this process has it open"
                                 : " was replaced by another file while this process has it open";
    return base::fail(ErrorCode::unavailable,
                      watched.path + what +
                          ": what is written now would be found by nobody, so nothing is. Put back "
                          "the file, together with the -wal file that belongs to it, or stop all "
                          "processes that use it and start them anew; what was removed can still "
                          "be copied from /proc/PID/fd of this process while it lives");
}

} // namespace deadman::store::sqlite
