#pragma once
// Whether the disk has room for what is to be written.

#include <cstdint>
#include <optional>
#include <string>

#include "deadman/store/job_query.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

/// On the disk with the file. Nothing where the system does not tell.
std::optional<std::uint64_t> free_bytes(const std::string& path);

/// Writes a little to the log and takes it back. REQUIRES: within a write transaction, which is
/// rolled back afterwards.
bool has_room_for_a_write(Connection& connection);

Finding disk_room(std::optional<std::uint64_t> free, bool has_room);

} // namespace deadman::store::sqlite
