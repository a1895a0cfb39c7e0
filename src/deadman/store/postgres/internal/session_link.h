#pragma once
// SessionLink: what this process keeps for one of its worker sessions: the connection whose
// advisory lock tells the server that the process lives, the cursors, the runs named as started.
//
// Thread-safety: renewals under renew_mutex; the rest under mutex.

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "deadman/store/postgres/internal/connection.h"
#include "deadman/store/postgres/internal/cursors.h"

namespace deadman::store::postgres {

struct SessionLink {
    std::mutex renew_mutex;                 // taken before mutex
    bool hints = false;                     // keep a connection with the lock
    std::unique_ptr<Connection> connection; // guarded by renew_mutex
    bool has_lock = false;                  // on that connection

    std::mutex mutex; // guards all below
    Cursors cursors;
    std::set<std::int64_t> started;       // named by a renewal and not ended since
    std::set<std::int64_t> claim_numbers; // the latest of those that took something
};

} // namespace deadman::store::postgres
