#pragma once
// The tables, as numbered migrations. What each one holds is told beside it in schema.cc.

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/store/job_query.h"
#include "deadman/store/sqlite/internal/database.h"

namespace deadman::store::sqlite {

/// Holds for the file from then on, whoever opens it.
base::Status use_write_ahead_log(Connection& connection);

/// The schema that this build reads and writes.
int schema_version();

/// The version in the file; 0: none yet.
int stored_schema_version(Connection& connection);

/// REQUIRES: within a write transaction.
base::Result<MigrationReport> migrate(Connection& connection, base::TimePoint now);

} // namespace deadman::store::sqlite
