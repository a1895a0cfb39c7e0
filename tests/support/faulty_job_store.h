#pragma once
// FaultyJobStore: a JobStore in front of another that fails, lies about the outcome, or stalls at a
// chosen call. For tests that walk a fault through a workload: at call 1, 2, 3 ... until none
// fires.
//
// Thread-safety: safe for concurrent use, as far as the store behind it is.
// Blocking:      a stalled call waits on the clock, before it does anything.
// Ownership:     the store and the clock must outlive it.
// Errors:        fail_before: unavailable, nothing happened. unknown_after: outcome_unknown, it
// did.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "deadman/base/clock.h"
#include "deadman/store/job_store.h"

namespace deadman::test_support {

enum class StoreMethod {
    enqueue,
    register_session,
    renew,
    end_session,
    claim,
    claim_result,
    complete,
    transact,
    cancel,
    retry,
    remove,
    pause_queue,
    resume_queue,
    try_lead,
    sweep,
    question, // now, migrate, examine, readiness, find, runs, list, count_outstanding, queues,
              // sessions
};

inline constexpr std::size_t store_methods = static_cast<std::size_t>(StoreMethod::question) + 1;

struct StoreFault {
    enum class Kind {
        fail_before,   // unavailable; the store was not called
        unknown_after, // outcome_unknown; the store was called (a question: unavailable)
        stall,         // the call waits for `stall`, then goes through
    };

    Kind kind = Kind::fail_before;
    std::int64_t at_call = 1;          // counted from 1 over the calls of `method`, from arm() on
    std::optional<StoreMethod> method; // empty: over all calls
    base::Duration stall{};
};

class FaultyJobStore final : public store::JobStore {
  public:
    FaultyJobStore(store::JobStore& inner, base::Clock& clock);

    /// Replaces the fault that is armed, if any. It fires once.
    void arm(const StoreFault& fault);
    bool fired() const;

    /// Calls since the beginning.
    std::int64_t calls(StoreMethod method) const;
    std::int64_t calls() const;

    std::string_view name() const override;
    base::Result<base::TimePoint> now() override;
    base::Result<store::MigrationReport> migrate() override;
    base::Result<std::vector<store::Finding>> examine() override;
    base::Result<std::vector<store::Finding>> readiness() override;
    base::Result<std::vector<store::Enqueued>>
    enqueue(std::span<const domain::JobSpec> specs) override;
    base::Result<store::Session> register_session(const store::SessionSpec& spec) override;
    base::Result<store::Renewal> renew(const store::SessionKey& session,
                                       const store::RenewRequest& request) override;
    base::Status end_session(const store::SessionKey& session, std::string_view reason) override;
    base::Result<std::vector<store::Claimed>> claim(const store::SessionKey& session,
                                                    const store::ClaimRequest& request) override;
    base::Result<std::vector<store::Claimed>> claim_result(const store::SessionKey& session,
                                                           std::int64_t claim_no) override;
    base::Result<std::vector<domain::Verdict>>
    complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) override;
    base::Status transact(const store::SessionKey& session, const store::RunKey& run,
                          std::string_view result_json, const store::EffectBody& body) override;
    base::Result<store::CancelAnswer> cancel(domain::JobId id) override;
    base::Status retry(domain::JobId id) override;
    base::Status remove(domain::JobId id) override;
    base::Status pause_queue(std::string_view queue) override;
    base::Status resume_queue(std::string_view queue) override;
    base::Result<std::optional<store::JobRecord>> find(domain::JobId id) override;
    base::Result<std::vector<store::RunRecord>> runs(domain::JobId id) override;
    base::Result<store::JobPage> list(const store::JobFilter& filter) override;
    base::Result<std::int64_t> count_outstanding() override;
    base::Result<std::vector<store::QueueRecord>> queues() override;
    base::Result<std::vector<store::SessionRecord>> sessions() override;
    /// The leadership's sweeps pass through the faults too.
    base::Result<std::unique_ptr<store::Leadership>> try_lead() override;
    void wait_for_work(std::span<const std::string> queues, base::Duration patience) override;
    void interrupt() override;

  private:
    class FaultyLeadership;

    /// Counts the call; the fault that fires at it, if any.
    std::optional<StoreFault> next(StoreMethod method);
    void wait_out(base::Duration stall);

    template <typename Call> auto through(StoreMethod method, const Call& call) -> decltype(call());

    store::JobStore& inner_;
    base::Clock& clock_;
    mutable std::mutex mutex_;
    std::array<std::int64_t, store_methods> calls_{}; // guarded by mutex_
    std::optional<StoreFault> armed_;                 // guarded by mutex_
    std::int64_t calls_since_armed_ = 0;              // guarded by mutex_
    bool fired_ = false;                              // guarded by mutex_
};

} // namespace deadman::test_support
