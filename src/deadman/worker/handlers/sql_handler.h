#pragma once
// The sql handler: one declared statement, committed together with the end of the run.
//
// Contract:      the statement's effect happens once, whatever is killed when. Its rows, if it
// returns
//                any, are dropped. An SQL error is a failed attempt.
// Thread-safety: the handler may run many times at once.

#include "deadman/worker/handler.h"
#include "deadman/worker/handlers/sql_statement.h"

namespace deadman::worker {

Handler make_sql_handler(SqlStatement statement);

} // namespace deadman::worker
