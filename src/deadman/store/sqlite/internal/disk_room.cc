#include "deadman/store/sqlite/internal/disk_room.h"

#include <filesystem>
#include <system_error>

#include <sqlite3.h>

namespace deadman::store::sqlite {
namespace {

using Severity = Finding::Severity;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t too_little = 64 * mebibyte; // the log, its copy, and a breath
constexpr std::uint64_t little = 512 * mebibyte;

} // namespace

std::optional<std::uint64_t> free_bytes(const std::string& path) {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(path, error);
    if (error)
        return std::nullopt;
    return space.available;
}

// Without the flush a transaction that is rolled back would never reach the disk.
bool has_room_for_a_write(Connection& connection) {
    try {
        connection.run("CREATE TABLE deadman_probe (bytes BLOB)");
        connection.run("INSERT INTO deadman_probe VALUES (zeroblob(131072))");
    } catch (const SqliteFailure& failure) {
        if (!is_disk_full(failure))
            throw;
        return false;
    }
    return (sqlite3_db_cacheflush(connection.handle()) & 0xff) != SQLITE_FULL;
}

Finding disk_room(std::optional<std::uint64_t> free, bool has_room) {
    const std::string have =
        free ? std::to_string(*free / mebibyte) + " MiB free" : "the system does not say how much";
    if (!has_room)
        return {Severity::problem, "disk_room",
                "the disk with the database is full (" + have +
                    "): nothing can be enqueued, claimed or ended. Make room on it"};
    if (free && *free < too_little)
        return {Severity::problem, "disk_room",
                "the disk with the database is nearly full: " + have + ". Make room on it"};
    if (free && *free < little)
        return {Severity::warning, "disk_room", "the disk with the database fills up: " + have};
    return {Severity::ok, "disk_room", have};
}

} // namespace deadman::store::sqlite
