#include "deadman/store/sqlite/sqlite_job_store.h"

#include <atomic>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "deadman/platform/file_lock.h"
#include "deadman/store/sqlite/internal/background.h"
#include "deadman/store/sqlite/internal/claims.h"
#include "deadman/store/sqlite/internal/ends.h"
#include "deadman/store/sqlite/internal/enqueue.h"
#include "deadman/store/sqlite/internal/examine.h"
#include "deadman/store/sqlite/internal/farewell.h"
#include "deadman/store/sqlite/internal/file_watch.h"
#include "deadman/store/sqlite/internal/operators.h"
#include "deadman/store/sqlite/internal/questions.h"
#include "deadman/store/sqlite/internal/reaper.h"
#include "deadman/store/sqlite/internal/schema.h"
#include "deadman/store/sqlite/internal/sessions.h"
#include "deadman/store/sqlite/internal/upkeep.h"
#include "deadman/store/sqlite/internal/wake_ups.h"

namespace deadman::store {
namespace {

using base::Result;
using base::Status;
using sqlite::Connection;
using sqlite::ConnectionOptions;
using sqlite::WriteContext;

constexpr std::int64_t bytes_per_page = 4096;

/// What the store is made of, opened one after the other because each can fail.
struct Parts {
    std::unique_ptr<sqlite::FileWatch> watch;
    std::unique_ptr<Connection> farewell;
    std::unique_ptr<Connection> write;
    std::unique_ptr<Connection> wake;
};

class Store final : public JobStore {
  public:
    Store(const SqliteOptions& options, base::Clock& clock, const ConnectionOptions& writing,
          const ConnectionOptions& reading, Parts parts)
        : options_(options), clock_(clock), watch_(std::move(parts.watch)),
          farewell_(std::move(parts.farewell), options.path, *watch_), locks_(options.path),
          readers_(reading, *watch_), effects_(writing, *watch_, clock, options.transaction_bound),
          background_(clock, sqlite::Checkpoints(without_hook(writing), *watch_), effects_,
                      options.checkpoint_pages),
          wake_ups_(std::move(parts.wake), clock),
          writer_(std::move(parts.write), *watch_, clock, [this] { wake_ups_.notify(); }) {
        effects_.set_on_begin([this] { background_.transaction_begun(); });
    }

    sqlite::Background& background() {
        return background_;
    }

    std::string_view name() const override {
        return "sqlite";
    }

    Result<base::TimePoint> now() override {
        return clock_.now();
    }

    Result<MigrationReport> migrate() override;
    Result<std::vector<Finding>> examine() override;
    Result<std::vector<Finding>> readiness() override;
    Result<std::vector<Enqueued>> enqueue(std::span<const domain::JobSpec> specs) override;
    Result<Session> register_session(const SessionSpec& spec) override;
    Result<Renewal> renew(const SessionKey& session, const RenewRequest& request) override;
    Status end_session(const SessionKey& session, std::string_view reason) override;
    Result<std::vector<Claimed>> claim(const SessionKey& session,
                                       const ClaimRequest& request) override;
    Result<std::vector<Claimed>> claim_result(const SessionKey& session,
                                              std::int64_t claim_no) override;
    Result<std::vector<domain::Verdict>> complete(const SessionKey& session,
                                                  std::span<const RunEnd> ends) override;

    Status transact(const SessionKey& session, const RunKey& run, std::string_view result_json,
                    const EffectBody& body) override {
        return effects_.transact(session, run, result_json, body);
    }

    Result<CancelAnswer> cancel(domain::JobId id) override;
    Status retry(domain::JobId id) override;
    Status remove(domain::JobId id) override;

    Status pause_queue(std::string_view queue) override {
        return set_paused(queue, true);
    }

    Status resume_queue(std::string_view queue) override {
        return set_paused(queue, false);
    }

    Result<std::optional<JobRecord>> find(domain::JobId id) override;
    Result<std::vector<RunRecord>> runs(domain::JobId id) override;
    Result<JobPage> list(const JobFilter& filter) override;
    Result<std::int64_t> count_outstanding() override;
    Result<std::vector<QueueRecord>> queues() override;
    Result<std::vector<SessionRecord>> sessions() override;
    Result<std::unique_ptr<Leadership>> try_lead() override;

    void wait_for_work(std::span<const std::string> queues, base::Duration patience) override {
        wake_ups_.wait(queues, patience);
    }

    void interrupt() override {
        wake_ups_.interrupt();
    }

  private:
    static ConnectionOptions without_hook(ConnectionOptions options) {
        options.on_commit = nullptr;
        return options;
    }

    Status set_paused(std::string_view queue, bool paused);

    /// A write whose answer is only whether it worked.
    Status change(const std::function<Status(WriteContext&)>& operation);

    const SqliteOptions options_;
    base::Clock& clock_;
    const std::unique_ptr<sqlite::FileWatch> watch_;
    sqlite::Farewell farewell_; // goes after all that have the file open
    sqlite::SessionLocks locks_;
    sqlite::Readers readers_;
    sqlite::Effects effects_;
    sqlite::Background background_;
    sqlite::WakeUps wake_ups_;
    sqlite::Writer writer_;
};

Status Store::change(const std::function<Status(WriteContext&)>& operation) {
    DEADMAN_TRY(const bool is_done, writer_.write<bool>([&](WriteContext& context) -> Result<bool> {
        DEADMAN_TRY_STATUS(operation(context));
        return true;
    }));
    static_cast<void>(is_done);
    return {};
}

Result<MigrationReport> Store::migrate() {
    return writer_.write<MigrationReport>([](WriteContext& context) -> Result<MigrationReport> {
        DEADMAN_TRY(const MigrationReport report, sqlite::migrate(context.db, context.now));
        sqlite::begin_ticking(context);
        return report;
    });
}

Result<std::vector<Finding>> Store::examine() {
    DEADMAN_TRY(auto connection, watch_->open({.path = options_.path,
                                               .durable = options_.durable,
                                               .busy_patience = options_.busy_patience}));
    try {
        return sqlite::examine(*connection, options_.path, options_.checkpoint_pages);
    } catch (const sqlite::SqliteFailure& failure) {
        return sqlite::translate_sqlite(failure, sqlite::Moment::statement);
    }
}

Result<std::vector<Finding>> Store::readiness() {
    using Findings = std::vector<Finding>;
    DEADMAN_TRY_STATUS(watch_->check());
    return readers_.read<Findings>([&](Connection& db) -> Result<Findings> {
        return sqlite::check_readiness(db, writer_.is_out_of_room());
    });
}

Result<std::vector<Enqueued>> Store::enqueue(std::span<const domain::JobSpec> specs) {
    DEADMAN_TRY_STATUS(sqlite::check_specs(specs, options_.payload_limits, clock_.now()));
    return writer_.write<std::vector<Enqueued>>(
        [&](WriteContext& context) { return sqlite::enqueue_jobs(context, specs); });
}

Result<Session> Store::register_session(const SessionSpec& spec) {
    DEADMAN_TRY_STATUS(sqlite::check_session_spec(spec));
    domain::SessionId registered;
    auto session = writer_.write<Session>([&](WriteContext& context) -> Result<Session> {
        Session made = sqlite::register_session(context, spec, locks_);
        registered = made.key.id;
        return made;
    });
    if (!session && session.error().code != base::ErrorCode::outcome_unknown)
        locks_.release(registered);
    return session;
}

Result<Renewal> Store::renew(const SessionKey& session, const RenewRequest& request) {
    return writer_.write<Renewal>(
        [&](WriteContext& context) { return sqlite::renew(context, session, request); });
}

Status Store::end_session(const SessionKey& session, std::string_view reason) {
    DEADMAN_TRY_STATUS(change([&](WriteContext& context) -> Status {
        sqlite::end_session(context, session, reason);
        return {};
    }));
    locks_.release(session.id);
    return {};
}

Result<std::vector<Claimed>> Store::claim(const SessionKey& session, const ClaimRequest& request) {
    DEADMAN_TRY(const bool is_promising, readers_.read<bool>([&](Connection& db) {
        return sqlite::may_claim(db, session, request);
    }));
    if (!is_promising)
        return std::vector<Claimed>{};
    return writer_.write<std::vector<Claimed>>(
        [&](WriteContext& context) { return sqlite::claim_jobs(context, session, request); });
}

Result<std::vector<Claimed>> Store::claim_result(const SessionKey& session, std::int64_t claim_no) {
    return readers_.read<std::vector<Claimed>>(
        [&](Connection& db) { return sqlite::read_claim(db, session, claim_no); });
}

Result<std::vector<domain::Verdict>> Store::complete(const SessionKey& session,
                                                     std::span<const RunEnd> ends) {
    using Verdicts = std::vector<domain::Verdict>;
    if (ends.empty())
        return Verdicts{};
    return writer_.write<Verdicts>([&](WriteContext& context) -> Result<Verdicts> {
        return sqlite::end_runs(context, session, ends);
    });
}

Result<CancelAnswer> Store::cancel(domain::JobId id) {
    return writer_.write<CancelAnswer>([&](WriteContext& context) -> Result<CancelAnswer> {
        return sqlite::cancel_job(context, id);
    });
}

Status Store::retry(domain::JobId id) {
    return change([&](WriteContext& context) { return sqlite::retry_job(context, id); });
}

Status Store::remove(domain::JobId id) {
    return change([&](WriteContext& context) { return sqlite::remove_job(context, id); });
}

Status Store::set_paused(std::string_view queue, bool paused) {
    return change([&](WriteContext& context) -> Status {
        sqlite::set_paused(context, queue, paused);
        return {};
    });
}

Result<std::optional<JobRecord>> Store::find(domain::JobId id) {
    using Found = std::optional<JobRecord>;
    return readers_.read<Found>(
        [&](Connection& db) -> Result<Found> { return sqlite::find_job(db, id); });
}

Result<std::vector<RunRecord>> Store::runs(domain::JobId id) {
    using Runs = std::vector<RunRecord>;
    return readers_.read<Runs>(
        [&](Connection& db) -> Result<Runs> { return sqlite::list_runs(db, id); });
}

Result<JobPage> Store::list(const JobFilter& filter) {
    return readers_.read<JobPage>([&](Connection& db) { return sqlite::list_jobs(db, filter); });
}

Result<std::int64_t> Store::count_outstanding() {
    return readers_.read<std::int64_t>(
        [](Connection& db) -> Result<std::int64_t> { return sqlite::count_outstanding(db); });
}

Result<std::vector<QueueRecord>> Store::queues() {
    using Queues = std::vector<QueueRecord>;
    return readers_.read<Queues>(
        [](Connection& db) -> Result<Queues> { return sqlite::list_queues(db); });
}

Result<std::vector<SessionRecord>> Store::sessions() {
    using Sessions = std::vector<SessionRecord>;
    return readers_.read<Sessions>([&](Connection& db) -> Result<Sessions> {
        return sqlite::list_sessions(db, clock_.now());
    });
}

Result<std::unique_ptr<Leadership>> Store::try_lead() {
    return sqlite::try_lead({options_.path, clock_, writer_, readers_, locks_});
}

Status check_options(const SqliteOptions& options) {
    using base::ErrorCode;
    if (options.path.empty() || options.path == ":memory:")
        return base::fail(ErrorCode::invalid_argument, "sqlite: the path of a file is needed");
    if (platform::is_on_network_file_system(options.path))
        return base::fail(ErrorCode::invalid_argument,
                          options.path + " is on a network file system, where SQLite's locks "
                                         "cannot be trusted: use a local disk");
    return {};
}

std::string absolute_path(const std::string& path) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    return error ? path : absolute.string();
}

Result<Parts> open_parts(const std::string& named, const ConnectionOptions& writing,
                         const ConnectionOptions& reading) {
    Parts parts;
    parts.watch = std::make_unique<sqlite::FileWatch>(absolute_path(named), writing.path);
    DEADMAN_TRY_STATUS(parts.watch->check_before_opening());
    ConnectionOptions first = writing;
    first.on_commit = nullptr;
    first.may_create = true;
    DEADMAN_TRY(parts.farewell, Connection::open(first));
    DEADMAN_TRY_STATUS(sqlite::use_write_ahead_log(*parts.farewell));
    DEADMAN_TRY_STATUS(parts.watch->remember(*parts.farewell));
    DEADMAN_TRY(parts.write, parts.watch->open(writing));
    DEADMAN_TRY(parts.wake, parts.watch->open(reading));
    return parts;
}

} // namespace

Result<std::unique_ptr<JobStore>> SqliteJobStore::open(const SqliteOptions& asked,
                                                       base::Clock& clock) {
    DEADMAN_TRY_STATUS(check_options(asked));
    SqliteOptions options = asked;
    options.path = sqlite::real_path(asked.path);
    // The hook needs the store, which is made last.
    auto told = std::make_shared<std::atomic<sqlite::Background*>>(nullptr);
    ConnectionOptions writing{.path = options.path,
                              .durable = options.durable,
                              .busy_patience = options.busy_patience,
                              .log_bytes_at_rest = 2 * bytes_per_page * options.checkpoint_pages,
                              .on_commit = [told](int pages) {
                                  if (sqlite::Background* background = told->load())
                                      background->log_grew(pages);
                              }};
    ConnectionOptions reading{.path = options.path,
                              .durable = options.durable,
                              .read_only = true,
                              .busy_patience = options.busy_patience};
    DEADMAN_TRY(Parts parts, open_parts(asked.path, writing, reading));
    auto store = std::make_unique<Store>(options, clock, writing, reading, std::move(parts));
    told->store(&store->background());
    return std::unique_ptr<JobStore>(std::move(store));
}

} // namespace deadman::store
