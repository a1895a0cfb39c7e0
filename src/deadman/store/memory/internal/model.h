#pragma once
// Model: the rules of the store as operations on Tables, each one atomic because the caller holds
// the mutex.
//
// Thread-safety: external synchronization.
// Units:         `now` is the store's wall time at the call.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/store/memory/internal/tables.h"
#include "deadman/store/memory/memory_job_store.h"

namespace deadman::store::memory {

class Model {
  public:
    Model(const MemoryJobStoreOptions& options, base::TimePoint now, base::SteadyTime steady);

    // model_enqueue.cc
    base::Result<std::vector<Enqueued>> enqueue(std::span<const domain::JobSpec> specs,
                                                base::TimePoint now);

    // model_sessions.cc
    Session register_session(const SessionSpec& spec, base::TimePoint now);
    base::Result<Renewal> renew(const SessionKey& session, const RenewRequest& request,
                                base::TimePoint now);
    void end_session(const SessionKey& session, std::string_view reason, base::TimePoint now);
    std::vector<SessionRecord> sessions() const;
    bool forget_session(domain::SessionId id);

    // model_claims.cc
    base::Result<std::vector<Claimed>> claim(const SessionKey& session, const ClaimRequest& request,
                                             base::TimePoint now);
    base::Result<std::vector<Claimed>> claim_result(const SessionKey& session,
                                                    std::int64_t claim_no) const;
    /// Does one of the queues, unpaused, hold a claimable job in a lane up to `last`?
    bool has_ready(std::span<const std::string> queues, Lane last) const;

    // model_ends.cc
    domain::Verdict complete(const SessionKey& session, const RunEnd& end, base::TimePoint now);
    /// May the run end by transact() now? ok, fenced or cancelled.
    base::Status check_transact(const SessionKey& session, const RunKey& run) const;

    // model_operators.cc
    CancelAnswer cancel(domain::JobId id, base::TimePoint now);
    base::Status retry(domain::JobId id, base::TimePoint now);
    base::Status remove(domain::JobId id);
    void set_paused(std::string_view queue, bool paused);

    // model_queries.cc
    std::optional<JobRecord> find(domain::JobId id) const;
    std::vector<RunRecord> runs(domain::JobId id) const;
    base::Result<JobPage> list(const JobFilter& filter) const;
    std::int64_t count_outstanding() const;
    std::vector<QueueRecord> queues() const;

    // model_upkeep.cc
    std::int64_t try_lead(base::SteadyTime steady); // the new term, or 0 while another leads
    void give_up(std::int64_t term);
    UpkeepReport sweep(std::int64_t term, const UpkeepRequest& request, base::TimePoint now,
                       base::SteadyTime steady);

    void raise_sequences(std::int64_t to);

    /// Counts the changes that may have made work claimable.
    std::uint64_t wakeups() const {
        return wakeups_;
    }

  private:
    // --- sessions
    SessionRow* live_session(const SessionKey& session);
    const SessionRow* live_session(const SessionKey& session) const;
    SessionRow* known_session(const SessionKey& session);

    // --- enqueue
    base::Status check_idempotency(std::span<const domain::JobSpec> specs,
                                   base::TimePoint now) const;
    Enqueued enqueue_one(const domain::JobSpec& spec, base::TimePoint now);
    const IdempotencyRow* live_idempotency_row(const std::string& key, base::TimePoint now) const;

    // --- claims
    std::vector<domain::JobId> choose(const ClaimRequest& request) const;
    domain::JobId choose_suspect(const ClaimRequest& request) const;
    Claimed describe(const JobRow& job, domain::Fence fence, bool solo) const;

    // --- the places a job can be; each leaves the last one and enters the next
    void make_ready(JobRow& job, Lane lane, std::int64_t ticket);
    void return_to_ready(JobRow& job);
    void return_after(JobRow& job, base::Duration delay, base::TimePoint now);
    static Lane returned_lane(const JobRow& job);
    void make_scheduled(JobRow& job, base::TimePoint due);
    void start_run(JobRow& job, domain::Fence fence, domain::SessionId session,
                   base::TimePoint now);
    void finish(JobRow& job, domain::JobState state, base::TimePoint now);
    void leave(JobRow& job);

    // --- ends of runs
    RunRecord& close_run(JobRow& job, domain::Outcome outcome, base::TimePoint now);
    void apply_answer(JobRow& job, const domain::Answer& answer, domain::Outcome outcome,
                      base::TimePoint now);
    void lapse(JobRow& job, const domain::Lapse& lapse, const domain::CrashTerms& terms,
               base::TimePoint now, UpkeepReport& report);
    /// Ends the session for good and returns what it holds.
    void close_session(domain::SessionId id, bool counts, std::string_view reason,
                       const domain::CrashTerms& terms, base::TimePoint now, UpkeepReport& report);

    // --- upkeep
    bool observe_tick(const UpkeepRequest& request, base::TimePoint now, base::SteadyTime steady);
    void reap(const UpkeepRequest& request, base::TimePoint now, UpkeepReport& report);
    void reap_orphans(const UpkeepRequest& request, base::TimePoint now, UpkeepReport& report);
    void promote(base::TimePoint now, UpkeepReport& report);
    void prune(const UpkeepRequest& request, base::TimePoint now, UpkeepReport& report);
    void forget_job(domain::JobId id);

    JobRecord record_of(const JobRow& job) const;

    const MemoryJobStoreOptions options_;
    base::Random random_;
    Tables tables_;
    std::uint64_t wakeups_ = 0;
};

} // namespace deadman::store::memory
