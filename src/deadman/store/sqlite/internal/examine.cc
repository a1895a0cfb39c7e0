#include "deadman/store/sqlite/internal/examine.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include <sqlite3.h>

#include "deadman/platform/file_lock.h"
#include "deadman/store/sqlite/internal/disk_room.h"
#include "deadman/store/sqlite/internal/schema.h"
#include "deadman/store/sqlite/internal/session_locks.h"

namespace deadman::store::sqlite {
namespace {

using Severity = Finding::Severity;

// In the "-shm" file: SQLite's lock of the one writer (WAL_WRITE_LOCK of its file format).
constexpr std::uint64_t writer_lock_byte = 120;
constexpr int bytes_per_page = 4096;

Finding version() {
    const std::string name = sqlite3_libversion();
    if (!has_wal_reset_bug(sqlite3_libversion_number()))
        return {Severity::ok, "sqlite_version", "SQLite " + name};
    return {Severity::warning, "sqlite_wal_reset_bug",
            "SQLite " + name +
                " can lose committed pages where a commit runs beside a checkpoint. Deadman's own "
                "processes are safe: one at a time checkpoints, with all writers locked out. Do "
                "not write to this file with other programs while Deadman runs, or use 3.51.3"};
}

Finding journal_mode(Connection& db) {
    Cursor row = db.query("PRAGMA journal_mode");
    const std::string mode = row.next() ? row.text(0) : "unknown";
    if (mode == "wal")
        return {Severity::ok, "sqlite_journal_mode", "write-ahead log"};
    return {Severity::problem, "sqlite_journal_mode",
            "the journal mode is '" + mode + "', not 'wal': set it back (PRAGMA journal_mode=WAL)"};
}

Finding integrity(Connection& db) {
    Cursor row = db.query("PRAGMA quick_check(1)");
    const std::string answer = row.next() ? row.text(0) : "no answer";
    if (answer == "ok")
        return {Severity::ok, "sqlite_integrity", "quick_check found nothing"};
    return {Severity::problem, "sqlite_integrity",
            "the file is damaged: " + answer + "; restore a backup"};
}

// Sessions whose process lives, by its lock file, and that the database has never heard of. The
// write lock is held: nobody is half way through registering.
Finding strangers(Connection& db, const std::string& path) {
    std::vector<domain::SessionId> unknown;
    for (const domain::SessionId id : held_sessions(path))
        if (!db.query("SELECT 1 FROM deadman_session WHERE id = ?1", id.value).next())
            unknown.push_back(id);
    if (unknown.empty())
        return {Severity::ok, "file_in_place", "no process works on another file of this name"};
    return {Severity::problem, "file_moved",
            std::to_string(unknown.size()) +
                " living session(s) with a lock beside this file are unknown to it: their "
                "processes have another file open, which was moved, replaced or removed under "
                "them. Put that one back or start those processes anew"};
}

// What needs the write lock, and whether somebody holds it for longer than commits take.
std::vector<Finding> writing(Connection& db, const std::string& path) {
    constexpr auto long_for_a_commit = std::chrono::milliseconds(500);
    db.set_busy_patience(long_for_a_commit);
    try {
        const WriteTransaction probe(db);
        std::vector<Finding> findings{{Severity::ok, "write_lock", "free"}};
        if (stored_schema_version(db) > 0)
            findings.push_back(strangers(db, path));
        findings.push_back(disk_room(free_bytes(path), has_room_for_a_write(db)));
        return findings;
    } catch (const SqliteFailure&) {
        const auto pid = platform::byte_lock_holder(path + "-shm", writer_lock_byte);
        const std::string who =
            pid ? "process " + std::to_string(*pid) : "a process that the system does not name";
        return {{Severity::problem, "blocked_by_writer",
                 who + " holds the database's only write lock, and everybody waits for it. If it "
                       "is stopped, continue it (SIGCONT) or end it: nothing is lost by that"},
                disk_room(free_bytes(path), true)};
    }
}

Finding log_size(const std::string& path, int checkpoint_pages) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path + "-wal", error);
    const std::string text = std::to_string(error ? 0 : bytes >> 10) + " KiB";
    const auto usual = static_cast<std::uintmax_t>(checkpoint_pages) * bytes_per_page * 4;
    if (error || bytes <= usual)
        return {Severity::ok, "sqlite_log_size", "the log has " + text};
    return {Severity::warning, "sqlite_log_size",
            "the log has " + text + ": a reader holds an old snapshot, or no process checkpoints"};
}

Finding file_system(const std::string& path) {
    if (!platform::is_on_network_file_system(path))
        return {Severity::ok, "file_system", "local"};
    return {Severity::problem, "network_file_system",
            "the database is on a network file system, where SQLite's locks cannot be trusted: "
            "move it to a local disk"};
}

Finding schema(Connection& db) {
    const int stored = stored_schema_version(db);
    const std::string versions = "version " + std::to_string(stored) + ", this build has " +
                                 std::to_string(schema_version());
    if (stored == schema_version())
        return {Severity::ok, "schema_version", versions};
    return {Severity::problem, "schema_version",
            versions +
                (stored < schema_version() ? ": run 'deadman migrate'" : ": use a newer build")};
}

} // namespace

bool has_wal_reset_bug(int version_number) {
    constexpr int first = 3'007'000;
    constexpr int repaired = 3'051'003;
    constexpr int repaired_44 = 3'044'006;
    constexpr int repaired_50 = 3'050'007;
    const bool is_backport = (version_number >= repaired_44 && version_number < 3'045'000) ||
                             (version_number >= repaired_50 && version_number < 3'051'000);
    return version_number >= first && version_number < repaired && !is_backport;
}

std::vector<Finding> examine(Connection& connection, const std::string& path,
                             int checkpoint_pages) {
    std::vector<Finding> findings{version(), file_system(path)};
    findings.push_back(log_size(path, checkpoint_pages));
    findings.push_back(journal_mode(connection));
    findings.push_back(schema(connection));
    const std::vector<Finding> about_writing = writing(connection, path);
    findings.insert(findings.end(), about_writing.begin(), about_writing.end());
    findings.push_back(integrity(connection));
    return findings;
}

std::vector<Finding> check_readiness(Connection& connection, bool is_out_of_room) {
    std::vector<Finding> findings{schema(connection)};
    if (is_out_of_room)
        findings.push_back({Severity::problem, "disk_room",
                            "the disk with the database is full: make room on it"});
    return findings;
}

} // namespace deadman::store::sqlite
