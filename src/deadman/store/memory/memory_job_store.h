#pragma once
// MemoryJobStore: the whole contract of JobStore in the simplest way that is right; nothing
// outlives it.
//
// Contract:      store/job_store.h. It is the model that the other stores are compared with.
// Thread-safety: safe for concurrent use: one mutex, never held while a caller's code runs.
// Blocking:      wait_for_work only; with `blocking = false` nothing waits.
// Ownership:     the clock must outlive the store, the store its Leadership objects.
// Source:        docs/ARCHITECTURE.md.

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"

namespace deadman::store {

namespace memory {
class Model;
}

struct MemoryJobStoreOptions {
    std::uint64_t seed = 1;     // of session keys
    bool blocking = true;       // false (simulation): wait_for_work returns at once
    bool detect_outages = true; // false: every sweep is taken for a timely one (S3 is off)
    std::size_t max_payload_bytes = domain::default_max_payload_bytes;
};

/// A statement that a transact() body executed and that was committed.
struct CommittedEffect {
    RunKey run;
    std::string sql;
    std::vector<SqlValue> parameters;
};

class MemoryJobStore final : public JobStore {
  public:
    explicit MemoryJobStore(base::Clock& clock, const MemoryJobStoreOptions& options = {});
    ~MemoryJobStore() override;

    MemoryJobStore(const MemoryJobStore&) = delete;
    MemoryJobStore& operator=(const MemoryJobStore&) = delete;

    std::string_view name() const override;
    base::Result<base::TimePoint> now() override;
    base::Result<MigrationReport> migrate() override;
    base::Result<std::vector<Finding>> examine() override;

    base::Result<std::vector<Enqueued>> enqueue(std::span<const domain::JobSpec> specs) override;

    base::Result<Session> register_session(const SessionSpec& spec) override;
    base::Result<Renewal> renew(const SessionKey& session, const RenewRequest& request) override;
    base::Status end_session(const SessionKey& session, std::string_view reason) override;

    base::Result<std::vector<Claimed>> claim(const SessionKey& session,
                                             const ClaimRequest& request) override;
    base::Result<std::vector<Claimed>> claim_result(const SessionKey& session,
                                                    std::int64_t claim_no) override;
    base::Result<std::vector<domain::Verdict>> complete(const SessionKey& session,
                                                        std::span<const RunEnd> ends) override;
    /// The body runs outside the mutex; whether the run is still the session's is decided at the
    /// end.
    base::Status transact(const SessionKey& session, const RunKey& run,
                          std::string_view result_json, const EffectBody& body) override;

    base::Result<CancelAnswer> cancel(domain::JobId id) override;
    base::Status retry(domain::JobId id) override;
    base::Status remove(domain::JobId id) override;
    base::Status pause_queue(std::string_view queue) override;
    base::Status resume_queue(std::string_view queue) override;

    base::Result<std::optional<JobRecord>> find(domain::JobId id) override;
    base::Result<std::vector<RunRecord>> runs(domain::JobId id) override;
    base::Result<JobPage> list(const JobFilter& filter) override;
    base::Result<std::int64_t> count_outstanding() override;
    base::Result<std::vector<QueueRecord>> queues() override;
    base::Result<std::vector<SessionRecord>> sessions() override;

    base::Result<std::unique_ptr<Leadership>> try_lead() override;

    void wait_for_work(std::span<const std::string> queues, base::Duration patience) override;
    void interrupt() override;

    // --- beyond the contract: what tests and the simulation look at or break
    // ----------------------

    std::vector<CommittedEffect> committed_effects() const;

    /// Drops the session's row as a careless operator would; its runs lapse at the next sweep.
    bool forget_session(domain::SessionId id);

    /// The next id of every kind is at least `to`.
    void raise_sequences(std::int64_t to);

  private:
    class Access;
    class Leader;

    base::Clock& clock_;
    const MemoryJobStoreOptions options_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t interrupts_ = 0;         // guarded by mutex_
    std::vector<CommittedEffect> effects_; // guarded by mutex_
    std::unique_ptr<memory::Model> model_; // guarded by mutex_
};

} // namespace deadman::store
