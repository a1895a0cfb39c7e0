#include "deadman/store/sqlite/internal/database.h"

#include <sqlite3.h>

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;

ErrorCode code_of(const SqliteFailure& failure, Moment moment) {
    switch (failure.code) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
        return ErrorCode::already_exists;
    case SQLITE_IOERR_WRITE: // before the frame that would have made it a commit
        return ErrorCode::unavailable;
    default:
        break;
    }
    switch (failure.code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_PROTOCOL:
        return ErrorCode::unavailable;
    case SQLITE_IOERR:
        // The log may hold the whole commit, unsynced, and a recovery may find it.
        return moment == Moment::commit ? ErrorCode::outcome_unknown : ErrorCode::unavailable;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
        return ErrorCode::exhausted;
    case SQLITE_INTERRUPT:
        return ErrorCode::cancelled;
    case SQLITE_CONSTRAINT:
        return ErrorCode::conflict;
    case SQLITE_AUTH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
    case SQLITE_NOTADB:
        return ErrorCode::invalid_argument;
    case SQLITE_ERROR:
        return failure.message.starts_with("no such table: deadman_") ? ErrorCode::conflict
                                                                      : ErrorCode::internal;
    default:
        return ErrorCode::internal;
    }
}

std::string sentence(const SqliteFailure& failure, ErrorCode code) {
    if ((failure.code & 0xff) == SQLITE_BUSY || (failure.code & 0xff) == SQLITE_LOCKED)
        return "another process has been writing to the database for too long ('deadman doctor' "
               "names it)";
    if (is_disk_full(failure))
        return "the disk with the database is full: make room on it; nothing was written (" +
               failure.message + ")";
    if (code == ErrorCode::conflict && (failure.code & 0xff) == SQLITE_ERROR)
        return "the database has no schema yet: run 'deadman migrate' (" + failure.message + ")";
    return failure.message + " (SQLite code " + std::to_string(failure.code) + ")";
}

} // namespace

bool is_disk_full(const SqliteFailure& failure) {
    return (failure.code & 0xff) == SQLITE_FULL;
}

base::Error translate_sqlite(const SqliteFailure& failure, Moment moment) {
    const ErrorCode code = code_of(failure, moment);
    return base::fail(code, sentence(failure, code));
}

} // namespace deadman::store::sqlite
