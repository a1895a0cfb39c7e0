#include "deadman/store/memory/memory_job_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "deadman/domain/payload.h"
#include "deadman/store/memory/internal/model.h"

namespace deadman::store {

using base::ErrorCode;
using memory::Lane;

namespace {

class RecordingTransaction final : public EffectTransaction {
  public:
    using EffectTransaction::execute;

    explicit RecordingTransaction(const RunKey& run) : run_(run) {}

    base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                              std::span<const SqlValue> parameters) override {
        effects_.push_back({run_, std::string(sql), {parameters.begin(), parameters.end()}});
        return std::vector<SqlRow>{};
    }

    std::vector<CommittedEffect> take() {
        return std::exchange(effects_, {});
    }

  private:
    const RunKey run_;
    std::vector<CommittedEffect> effects_;
};

} // namespace

/// The mutex and the model under it, for one call; wakes the waiters where the call made work
/// claimable.
class MemoryJobStore::Access {
  public:
    explicit Access(MemoryJobStore& store)
        : store_(store), lock_(store.mutex_), wakeups_(store.model_->wakeups()) {}

    ~Access() {
        if (store_.model_->wakeups() != wakeups_)
            store_.changed_.notify_all();
    }

    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

    memory::Model* operator->() {
        return store_.model_.get();
    }

  private:
    MemoryJobStore& store_;
    const std::lock_guard<std::mutex> lock_;
    const std::uint64_t wakeups_;
};

class MemoryJobStore::Leader final : public Leadership {
  public:
    Leader(MemoryJobStore& store, std::int64_t term) : store_(store), term_(term) {}

    ~Leader() override {
        Access(store_)->give_up(term_);
    }

    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;

    base::Result<UpkeepReport> sweep(const UpkeepRequest& request) override {
        Access model(store_);
        return model->sweep(term_, request, store_.clock_.now(), store_.clock_.steady_now());
    }

  private:
    MemoryJobStore& store_;
    const std::int64_t term_;
};

MemoryJobStore::MemoryJobStore(base::Clock& clock, const MemoryJobStoreOptions& options)
    : clock_(clock), options_(options),
      model_(std::make_unique<memory::Model>(options, clock.now(), clock.steady_now())) {}

MemoryJobStore::~MemoryJobStore() = default;

std::string_view MemoryJobStore::name() const {
    return "memory";
}

base::Result<base::TimePoint> MemoryJobStore::now() {
    return clock_.now();
}

base::Result<MigrationReport> MemoryJobStore::migrate() {
    return MigrationReport{.from_version = 1, .to_version = 1}; // there is only this build's
}

base::Result<std::vector<Finding>> MemoryJobStore::examine() {
    return std::vector<Finding>{
        {Finding::Severity::notice, "in_memory",
         "the store lives in this process's memory: its jobs end with the process"}};
}

base::Result<std::vector<Enqueued>>
MemoryJobStore::enqueue(std::span<const domain::JobSpec> specs) {
    return Access(*this)->enqueue(specs, clock_.now());
}

base::Result<Session> MemoryJobStore::register_session(const SessionSpec& spec) {
    return Access(*this)->register_session(spec, clock_.now());
}

base::Result<Renewal> MemoryJobStore::renew(const SessionKey& session,
                                            const RenewRequest& request) {
    return Access(*this)->renew(session, request, clock_.now());
}

base::Status MemoryJobStore::end_session(const SessionKey& session, std::string_view reason) {
    Access(*this)->end_session(session, reason, clock_.now());
    return {};
}

base::Result<std::vector<Claimed>> MemoryJobStore::claim(const SessionKey& session,
                                                         const ClaimRequest& request) {
    return Access(*this)->claim(session, request, clock_.now());
}

base::Result<std::vector<Claimed>> MemoryJobStore::claim_result(const SessionKey& session,
                                                                std::int64_t claim_no) {
    return Access(*this)->claim_result(session, claim_no);
}

base::Result<std::vector<domain::Verdict>> MemoryJobStore::complete(const SessionKey& session,
                                                                    std::span<const RunEnd> ends) {
    Access model(*this);
    std::vector<domain::Verdict> verdicts;
    verdicts.reserve(ends.size());
    for (const RunEnd& end : ends)
        verdicts.push_back(model->complete(session, end, clock_.now()));
    return verdicts;
}

base::Status MemoryJobStore::transact(const SessionKey& session, const RunKey& run,
                                      std::string_view result_json, const EffectBody& body) {
    if (!result_json.empty())
        DEADMAN_TRY_STATUS(
            domain::validate_payload(result_json, {.max_bytes = domain::largest_result_bytes}));
    DEADMAN_TRY_STATUS(Access(*this)->check_transact(session, run));
    RecordingTransaction transaction(run);
    DEADMAN_TRY_STATUS(body(transaction));

    Access model(*this);
    DEADMAN_TRY_STATUS(model->check_transact(session, run));
    domain::Answer answer;
    answer.result = result_json;
    model->complete(session, {run, answer}, clock_.now());
    std::ranges::move(transaction.take(), std::back_inserter(effects_));
    return {};
}

base::Result<CancelAnswer> MemoryJobStore::cancel(domain::JobId id) {
    return Access(*this)->cancel(id, clock_.now());
}

base::Status MemoryJobStore::retry(domain::JobId id) {
    return Access(*this)->retry(id, clock_.now());
}

base::Status MemoryJobStore::remove(domain::JobId id) {
    return Access(*this)->remove(id);
}

base::Status MemoryJobStore::pause_queue(std::string_view queue) {
    Access(*this)->set_paused(queue, true);
    return {};
}

base::Status MemoryJobStore::resume_queue(std::string_view queue) {
    Access(*this)->set_paused(queue, false);
    return {};
}

base::Result<std::optional<JobRecord>> MemoryJobStore::find(domain::JobId id) {
    return Access(*this)->find(id);
}

base::Result<std::vector<RunRecord>> MemoryJobStore::runs(domain::JobId id) {
    return Access(*this)->runs(id);
}

base::Result<JobPage> MemoryJobStore::list(const JobFilter& filter) {
    return Access(*this)->list(filter);
}

base::Result<std::int64_t> MemoryJobStore::count_outstanding() {
    return Access(*this)->count_outstanding();
}

base::Result<std::vector<QueueRecord>> MemoryJobStore::queues() {
    return Access(*this)->queues();
}

base::Result<std::vector<SessionRecord>> MemoryJobStore::sessions() {
    return Access(*this)->sessions();
}

base::Result<std::unique_ptr<Leadership>> MemoryJobStore::try_lead() {
    const std::int64_t term = Access(*this)->try_lead(clock_.steady_now());
    std::unique_ptr<Leadership> leader;
    if (term != 0)
        leader = std::make_unique<Leader>(*this, term);
    return leader;
}

void MemoryJobStore::wait_for_work(std::span<const std::string> queues, base::Duration patience) {
    if (!options_.blocking)
        return;
    std::unique_lock lock(mutex_);
    const std::uint64_t interrupts = interrupts_;
    const std::uint64_t wakeups = model_->wakeups();
    // A suspect that was there before is no reason to wake: whoever waits has left it to a worker
    // that holds nothing.
    const auto is_over = [&] {
        return interrupts_ != interrupts || model_->has_ready(queues, Lane::fresh) ||
               (model_->wakeups() != wakeups && model_->has_ready(queues, Lane::suspect));
    };
    clock_.wait_until(lock, changed_, clock_.steady_now() + patience, is_over);
}

void MemoryJobStore::interrupt() {
    const std::lock_guard lock(mutex_);
    ++interrupts_;
    changed_.notify_all();
}

std::vector<CommittedEffect> MemoryJobStore::committed_effects() const {
    const std::lock_guard lock(mutex_);
    return effects_;
}

bool MemoryJobStore::forget_session(domain::SessionId id) {
    return Access(*this)->forget_session(id);
}

void MemoryJobStore::raise_sequences(std::int64_t to) {
    Access(*this)->raise_sequences(to);
}

} // namespace deadman::store
