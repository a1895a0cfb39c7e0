#pragma once
// What a driver's exception means for the caller, and what the store itself can do about it.
//
// Errors: in_doubt_error and statement_completion_unknown are looked for before
// transaction_rollback, of
//         which the second is a kind: neither says that nothing happened.

#include <exception>

#include "deadman/base/error.h"

namespace deadman::store::postgres {

/// What had been sent when it failed.
enum class Sent {
    reading,  // nothing that changes anything, or that may not be sent twice
    writing,  // statements of a transaction whose commit had not been sent
    deciding, // a statement that commits by itself, or a commit
};

enum class Remedy {
    none,
    repeat,          // the server rolled it back for the sake of another transaction
    reconnect,       // it was lost with its connection, and may be sent again
    make_partitions, // no partition for the time or the id
    raise_fence,     // the server took over from another one
    own_lease,       // the run shares its lease, and needs one of its own to end in a transaction
};

struct Failure {
    base::Error error;
    Remedy remedy = Remedy::none;
    bool connection_lost = false;
};

Failure translate_failure(const std::exception& exception, Sent sent);

/// By SQLSTATE alone: the table behind translate_failure.
Failure translate_sqlstate(std::string_view sqlstate, std::string message, Sent sent);

/// What the statements of a handler's own effect failed with.
base::Error translate_effect_failure(const std::exception& exception);

} // namespace deadman::store::postgres
