#pragma once
// Worker sessions: one life of one worker process, and the lease it holds over its runs.

#include <optional>
#include <string>
#include <vector>

#include "deadman/base/time.h"
#include "deadman/domain/lease_terms.h"
#include "deadman/store/job_types.h"

namespace deadman::store {

struct SessionSpec {
    std::string worker; // a name for people; sessions of one name are strangers to each other
    std::string host;
    int pid = 0;
    std::string version;
    std::vector<std::string> queues;
    std::vector<std::string> kinds;      // the kinds it has handlers for
    std::vector<std::string> solo_kinds; // of these, those whose runs always end in transact()
    int slots = 1;
    domain::LeaseTerms terms;
};

/// What proves that a caller is the session: an id and a random key.
struct SessionKey {
    domain::SessionId id;
    std::string key;
};

struct Session {
    SessionKey key;
    base::Duration renew_every{};  // how often to renew
    base::Duration cancel_after{}; // without an acknowledged renewal for this long: cancel handlers
    base::Duration leave_after{};  // ... and leave the process if one still runs
};

struct RunProgress {
    RunKey run;
    std::string note; // at most 1 KiB of text for people
    int percent = 0;
};

struct RenewRequest {
    std::vector<domain::JobId> started; // runs whose handler has been called
    std::vector<RunProgress> progress;  // what changed since the last renewal
    bool idle = false;                  // waiting for work: worth waking
};

/// One lease as the store has it.
struct HeldLease {
    domain::Fence fence;
    std::int64_t claim_no = 0;
    std::vector<domain::JobId> unended;
    std::vector<domain::JobId> cancel_requested;
};

/// Every lease that the store has for the session. A snapshot: older than what other calls of the
/// same worker did while it was under way (PROTOCOL C1).
struct Renewal {
    std::vector<HeldLease> leases;
};

struct SessionRecord {
    domain::SessionId id;
    std::string worker;
    std::string host;
    int pid = 0;
    std::string version;
    std::vector<std::string> queues;
    std::vector<std::string> kinds;
    int slots = 0;
    int running = 0; // runs that have started
    int held = 0;    // runs that it holds, started or not
    base::TimePoint started_at;
    base::TimePoint renewed_at;
    base::TimePoint lease_until;
    std::optional<base::TimePoint> ended_at;
    std::string end_reason;
};

} // namespace deadman::store
