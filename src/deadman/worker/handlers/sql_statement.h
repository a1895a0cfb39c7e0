#pragma once
// The named parameters of a declared SQL statement, made positional. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/result.h"

namespace deadman::worker {

enum class SqlDialect { sqlite, postgres };

enum class SqlParameter { payload, job_id, fence, attempt };

struct SqlStatement {
    std::string text;                     // with ?1 or $1 in place of names
    std::vector<SqlParameter> parameters; // parameters[0] is bound to ?1 or $1
};

/// Knows :payload, :job_id, :fence, :attempt; leaves quoted text, comments, `::type` and operators
/// alone. invalid_argument: an unknown name or any other parameter ($1, ?, ?1, @x: it says which
/// are known), or an unfinished quote or comment.
base::Result<SqlStatement> compile_statement(std::string_view text, SqlDialect dialect);

} // namespace deadman::worker
