#pragma once
// Store: JobStore over a pool of connections. Each call is one statement of the schema's functions,
// which commits by itself; a few are made of two. The methods are spread over store_*.cc by
// subject.
//
// Thread-safety: safe for concurrent use.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/store/job_store.h"
#include "deadman/store/postgres/internal/connection.h"
#include "deadman/store/postgres/internal/connection_pool.h"
#include "deadman/store/postgres/internal/enqueue_group.h"
#include "deadman/store/postgres/internal/failure.h"
#include "deadman/store/postgres/internal/session_link.h"
#include "deadman/store/postgres/internal/wake_listener.h"

namespace deadman::store::postgres {

class Store final : public JobStore {
  public:
    Store(base::Clock& clock, const PostgresOptions& options);
    ~Store() override;

    // store.cc
    std::string_view name() const override;
    base::Result<base::TimePoint> now() override;
    base::Result<std::unique_ptr<Leadership>> try_lead() override;
    void wait_for_work(std::span<const std::string> queues, base::Duration patience) override;
    void interrupt() override;

    // store_migrate.cc
    base::Result<MigrationReport> migrate() override;

    // store_examine.cc
    base::Result<std::vector<Finding>> examine() override;
    base::Result<std::vector<Finding>> readiness() override;

    // store_enqueue.cc
    base::Result<std::vector<Enqueued>> enqueue(std::span<const domain::JobSpec> specs) override;

    // store_sessions.cc
    base::Result<Session> register_session(const SessionSpec& spec) override;
    base::Result<Renewal> renew(const SessionKey& session, const RenewRequest& request) override;
    base::Status end_session(const SessionKey& session, std::string_view reason) override;
    base::Result<std::vector<SessionRecord>> sessions() override;

    // store_claims.cc
    base::Result<std::vector<Claimed>> claim(const SessionKey& session,
                                             const ClaimRequest& request) override;
    base::Result<std::vector<Claimed>> claim_result(const SessionKey& session,
                                                    std::int64_t claim_no) override;

    // store_ends.cc
    base::Result<std::vector<domain::Verdict>> complete(const SessionKey& session,
                                                        std::span<const RunEnd> ends) override;
    base::Status transact(const SessionKey& session, const RunKey& run,
                          std::string_view result_json, const EffectBody& body) override;

    // store_operators.cc
    base::Result<CancelAnswer> cancel(domain::JobId id) override;
    base::Status retry(domain::JobId id) override;
    base::Status remove(domain::JobId id) override;
    base::Status pause_queue(std::string_view queue) override;
    base::Status resume_queue(std::string_view queue) override;

    // store_queries.cc
    base::Result<std::optional<JobRecord>> find(domain::JobId id) override;
    base::Result<std::vector<RunRecord>> runs(domain::JobId id) override;
    base::Result<JobPage> list(const JobFilter& filter) override;
    base::Result<std::int64_t> count_outstanding() override;
    base::Result<std::vector<QueueRecord>> queues() override;

    // --- for Leadership
    // --------------------------------------------------------------------------------

    /// Runs one statement on a connection of the pool. What the server rolled back for the sake of
    /// others, and what can be mended (partitions, fences), is done again here.
    base::Result<pqxx::result> query(const Statement& statement, const pqxx::params& parameters,
                                     Sent sent);

    base::Clock& clock() {
        return clock_;
    }

    const ConnectionSettings& settings() const {
        return settings_;
    }

    /// Steady time that moves with the store's clock in tests.
    base::SteadyTime steady_now() const;

  private:
    /// `remedy` tells what would help where it failed.
    base::Status transact_once(const SessionKey& session, const RunKey& run,
                               std::string_view result_json, const EffectBody& body,
                               Remedy& remedy);

    void cancel_statement_of(int backend);

    base::Status check_spec(const domain::JobSpec& spec) const;
    base::Result<std::vector<Enqueued>>
    enqueue_together(std::span<const EnqueueGroup::Specs> calls);
    base::Result<std::vector<Finding>> findings_of(const Statement& statement);

    std::shared_ptr<SessionLink> link_of(const SessionKey& session);
    void forget_link(domain::SessionId id);
    base::Result<pqxx::result> renew_on_link(SessionLink& link, const SessionKey& session,
                                             const pqxx::params& parameters);
    void publish_cursors(SessionLink& link, const SessionKey& session);
    void note_progress(const SessionKey& session, std::span<const RunProgress> progress);

    base::Result<std::vector<domain::Verdict>> complete_general(const SessionKey& session,
                                                                std::span<const RunEnd> ends);
    base::Result<std::vector<domain::Verdict>> complete_halves(const SessionKey& session,
                                                               std::span<const RunEnd> ends);
    base::Result<bool> complete_whole_lease(const SessionKey& session,
                                            std::span<const RunEnd> ends);

    base::Result<std::vector<JobRecord>> describe(const std::vector<std::int64_t>& ids);
    base::Result<JobPage> list_finished(const JobFilter& filter);
    base::Result<JobPage> list_by_id(const JobFilter& filter);

    /// Does what the failure asks for, waits a moment where that helps. False: nothing helps any
    /// more.
    bool mend(const Failure& failure, int attempt);
    void pause_before_repeat(int attempt);

    base::Clock& clock_;
    const PostgresOptions options_;
    ConnectionSettings settings_;
    ConnectionPool pool_;
    ConnectionPool effects_pool_; // of handlers' transactions: they must not hold up the rest
    EnqueueGroup enqueue_group_;
    std::mutex mutex_;
    base::Random random_;                                             // guarded by mutex_
    std::map<domain::SessionId, std::shared_ptr<SessionLink>> links_; // guarded by mutex_
    WakeListener listener_; // last: its thread uses what is above
};

/// Asked for by upkeep, and where an insert found no partition.
inline const Statement make_partitions_statement{"make_partitions",
                                                 "select deadman.make_partitions()", Pace::slow};

/// A parameter that is null where the text is empty.
inline std::optional<std::string> null_if_empty(std::string_view text) {
    if (text.empty())
        return std::nullopt;
    return std::string(text);
}

} // namespace deadman::store::postgres
