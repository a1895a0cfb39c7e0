#pragma once
// JobStore: the durable record of jobs and runs, and the only judge of who holds a lease.
//
// Contract:      a write that names an old fence, an ended session or another session's run changes
//                nothing (invariant I3). A call that returned a value has happened and, on a
//                durable store, survives power loss. See tests/contract/ for the contract as tests.
// Thread-safety: safe for concurrent use.
// Blocking:      methods wait for I/O up to the store's own bounds; never call on an event loop.
// Units:         TimePoint is UTC wall time by the store's clock, in microseconds.
// Errors:        unavailable: nothing happened, call again. outcome_unknown: it may have happened;
// read
//                back (claim_result, the verdict `repeat`, an idempotency key). fenced: the session
//                has ended. invalid_argument: the request can never succeed.
// Source:        docs/ARCHITECTURE.md and DECISIONS 015, 020, 021.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/store/effect_transaction.h"
#include "deadman/store/job_query.h"
#include "deadman/store/job_types.h"
#include "deadman/store/maintenance.h"
#include "deadman/store/session.h"

namespace deadman::store {

class JobStore {
  public:
    virtual ~JobStore() = default;

    // --- about the store
    // ---------------------------------------------------------------------------

    virtual std::string_view name() const = 0; // "memory", "sqlite", "postgres"

    /// The store's clock.
    virtual base::Result<base::TimePoint> now() = 0;

    /// Brings the schema to this build's version; idempotent; safe when several start at once. A
    /// schema newer than this build is refused with `conflict`.
    virtual base::Result<MigrationReport> migrate() = 0;

    /// What an operator should know: versions, settings, who blocks whom, partitions, drift.
    virtual base::Result<std::vector<Finding>> examine() = 0;

    /// What of that decides whether a server can do its work, and is cheap enough to be asked every
    /// second: is the store there, its schema current, the room for tomorrow's rows made?
    virtual base::Result<std::vector<Finding>> readiness() {
        return std::vector<Finding>{};
    }

    // --- enqueue
    // -----------------------------------------------------------------------------------

    /// All or none. One answer per spec, in order. A spec whose unique or idempotency key is taken
    /// answers with the job that holds it and `is_new = false`; an idempotency key reused for
    /// another request fails the whole call with `conflict` and names the key.
    virtual base::Result<std::vector<Enqueued>> enqueue(std::span<const domain::JobSpec> specs) = 0;

    // --- sessions
    // ----------------------------------------------------------------------------------

    virtual base::Result<Session> register_session(const SessionSpec& spec) = 0;

    /// Renews the lease of all the session's runs; `fenced` once the session has ended, for good.
    /// Also publishes which runs have started, their progress, and whether the worker is idle.
    virtual base::Result<Renewal> renew(const SessionKey& session, const RenewRequest& request) = 0;

    /// A worker that leaves, or that fenced itself: what it still holds returns without blame.
    /// Idempotent; `fenced` is not an error here.
    virtual base::Status end_session(const SessionKey& session, std::string_view reason) = 0;

    // --- runs
    // --------------------------------------------------------------------------------------

    /// Takes up to request.max jobs of the queues, by priority, returned work first with a bounded
    /// share. Empty: nothing claimable. A claim number that has already been used by this session
    /// is refused with `conflict`: read it back.
    virtual base::Result<std::vector<Claimed>> claim(const SessionKey& session,
                                                     const ClaimRequest& request) = 0;

    /// What the claim of that number took and has not ended yet: the read-back after
    /// outcome_unknown.
    virtual base::Result<std::vector<Claimed>> claim_result(const SessionKey& session,
                                                            std::int64_t claim_no) = 0;

    /// Ends runs. One verdict per end, in order. One bad run never fails the others.
    virtual base::Result<std::vector<domain::Verdict>> complete(const SessionKey& session,
                                                                std::span<const RunEnd> ends) = 0;

    /// Runs `body` in a transaction of the store's database and ends the run as succeeded in it:
    /// both or neither. `fenced` or `cancelled`: nothing was written; stop. outcome_unknown: the
    /// end was sent and its answer lost; `complete` of the same run tells (`repeat`: it had
    /// happened). An error from `body` rolls back and comes out as it is; the run goes on.
    /// REQUIRES: the job was claimed solo (Claimed::solo), on stores where that matters.
    virtual base::Status transact(const SessionKey& session, const RunKey& run,
                                  std::string_view result_json, const EffectBody& body) = 0;

    // --- operators
    // ---------------------------------------------------------------------------------

    virtual base::Result<CancelAnswer> cancel(domain::JobId id) = 0;

    /// failed, cancelled, expired -> pending, with its attempts and blame set back. `conflict`
    /// where the state does not allow it or another job holds its unique key.
    virtual base::Status retry(domain::JobId id) = 0;

    /// Forgets a finished job and its runs. `conflict` while it is not terminal.
    virtual base::Status remove(domain::JobId id) = 0;

    virtual base::Status pause_queue(std::string_view queue) = 0;
    virtual base::Status resume_queue(std::string_view queue) = 0;

    // --- questions
    // ---------------------------------------------------------------------------------

    virtual base::Result<std::optional<JobRecord>> find(domain::JobId id) = 0;

    /// Oldest first; the run that is going on, if any, last.
    virtual base::Result<std::vector<RunRecord>> runs(domain::JobId id) = 0;

    virtual base::Result<JobPage> list(const JobFilter& filter) = 0;

    /// Jobs that are not terminal, seen in one observation: a job that moves meanwhile is counted
    /// once.
    virtual base::Result<std::int64_t> count_outstanding() = 0;

    virtual base::Result<std::vector<QueueRecord>> queues() = 0;
    virtual base::Result<std::vector<SessionRecord>> sessions() = 0;

    // --- upkeep (the scheduler's side)
    // -------------------------------------------------------------

    /// Leadership for upkeep, or nullptr while another holds it. See maintenance.h.
    virtual base::Result<std::unique_ptr<Leadership>> try_lead() = 0;

    // --- wake-ups
    // ----------------------------------------------------------------------------------

    /// Blocks until work may have become claimable on one of `queues`, or `patience` has passed, or
    /// `interrupt()` was called. Spurious wakes are allowed; a missed one is bounded by `patience`.
    virtual void wait_for_work(std::span<const std::string> queues, base::Duration patience) = 0;

    /// Wakes every wait_for_work of this process.
    virtual void interrupt() = 0;
};

} // namespace deadman::store
