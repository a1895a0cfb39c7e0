#pragma once
// What an operator should know about the database.

#include <string>
#include <vector>

#include "deadman/store/job_query.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

/// REQUIRES: `connection` is not used by anybody meanwhile; it may write.
std::vector<Finding> examine(Connection& connection, const std::string& path, int checkpoint_pages);

/// The part that a server asks for every second: whether the schema is this build's, and whether
/// there was room for what was written last.
std::vector<Finding> check_readiness(Connection& connection, bool is_out_of_room);

/// SQLite 3.7.0 to 3.51.2, but for the two releases that got the repair too.
bool has_wal_reset_bug(int version_number);

} // namespace deadman::store::sqlite
