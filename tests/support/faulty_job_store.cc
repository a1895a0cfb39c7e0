#include "tests/support/faulty_job_store.h"

#include <condition_variable>
#include <numeric>
#include <utility>

namespace deadman::test_support {

using base::ErrorCode;

FaultyJobStore::FaultyJobStore(store::JobStore& inner, base::Clock& clock)
    : inner_(inner), clock_(clock) {}

void FaultyJobStore::arm(const StoreFault& fault) {
    const std::lock_guard lock(mutex_);
    armed_ = fault;
    calls_since_armed_ = 0;
    fired_ = false;
}

bool FaultyJobStore::fired() const {
    const std::lock_guard lock(mutex_);
    return fired_;
}

std::int64_t FaultyJobStore::calls(StoreMethod method) const {
    const std::lock_guard lock(mutex_);
    return calls_.at(static_cast<std::size_t>(method));
}

std::int64_t FaultyJobStore::calls() const {
    const std::lock_guard lock(mutex_);
    return std::accumulate(calls_.begin(), calls_.end(), std::int64_t{0});
}

std::optional<StoreFault> FaultyJobStore::next(StoreMethod method) {
    const std::lock_guard lock(mutex_);
    ++calls_.at(static_cast<std::size_t>(method));
    if (!armed_ || (armed_->method && *armed_->method != method))
        return std::nullopt;
    if (++calls_since_armed_ != armed_->at_call)
        return std::nullopt;
    fired_ = true;
    return std::exchange(armed_, std::nullopt);
}

void FaultyJobStore::wait_out(base::Duration stall) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    clock_.wait_until(lock, never, clock_.steady_now() + stall, [] { return false; });
}

template <typename Call>
auto FaultyJobStore::through(StoreMethod method, const Call& call) -> decltype(call()) {
    const std::optional<StoreFault> fault = next(method);
    if (!fault)
        return call();
    switch (fault->kind) {
    case StoreFault::Kind::fail_before:
        return base::fail(ErrorCode::unavailable, "planned: the call did not get through");
    case StoreFault::Kind::stall:
        wait_out(fault->stall);
        return call();
    case StoreFault::Kind::unknown_after:
        break;
    }
    if (method == StoreMethod::question)
        return base::fail(ErrorCode::unavailable, "planned: the answer was lost");
    const auto lost = call();
    static_cast<void>(lost);
    return base::fail(ErrorCode::outcome_unknown, "planned: the answer was lost");
}

class FaultyJobStore::FaultyLeadership final : public store::Leadership {
  public:
    FaultyLeadership(FaultyJobStore& faults, std::unique_ptr<store::Leadership> inner)
        : faults_(faults), inner_(std::move(inner)) {}

    base::Result<store::UpkeepReport> sweep(const store::UpkeepRequest& request) override {
        return faults_.through(StoreMethod::sweep, [&] { return inner_->sweep(request); });
    }

  private:
    FaultyJobStore& faults_;
    const std::unique_ptr<store::Leadership> inner_;
};

std::string_view FaultyJobStore::name() const {
    return inner_.name();
}

base::Result<base::TimePoint> FaultyJobStore::now() {
    return through(StoreMethod::question, [&] { return inner_.now(); });
}

base::Result<store::MigrationReport> FaultyJobStore::migrate() {
    return through(StoreMethod::question, [&] { return inner_.migrate(); });
}

base::Result<std::vector<store::Finding>> FaultyJobStore::examine() {
    return through(StoreMethod::question, [&] { return inner_.examine(); });
}

base::Result<std::vector<store::Finding>> FaultyJobStore::readiness() {
    return through(StoreMethod::question, [&] { return inner_.readiness(); });
}

base::Result<std::vector<store::Enqueued>>
FaultyJobStore::enqueue(std::span<const domain::JobSpec> specs) {
    return through(StoreMethod::enqueue, [&] { return inner_.enqueue(specs); });
}

base::Result<store::Session> FaultyJobStore::register_session(const store::SessionSpec& spec) {
    return through(StoreMethod::register_session, [&] { return inner_.register_session(spec); });
}

base::Result<store::Renewal> FaultyJobStore::renew(const store::SessionKey& session,
                                                   const store::RenewRequest& request) {
    return through(StoreMethod::renew, [&] { return inner_.renew(session, request); });
}

base::Status FaultyJobStore::end_session(const store::SessionKey& session,
                                         std::string_view reason) {
    return through(StoreMethod::end_session, [&] { return inner_.end_session(session, reason); });
}

base::Result<std::vector<store::Claimed>>
FaultyJobStore::claim(const store::SessionKey& session, const store::ClaimRequest& request) {
    return through(StoreMethod::claim, [&] { return inner_.claim(session, request); });
}

base::Result<std::vector<store::Claimed>>
FaultyJobStore::claim_result(const store::SessionKey& session, std::int64_t claim_no) {
    return through(StoreMethod::claim_result,
                   [&] { return inner_.claim_result(session, claim_no); });
}

base::Result<std::vector<domain::Verdict>>
FaultyJobStore::complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) {
    return through(StoreMethod::complete, [&] { return inner_.complete(session, ends); });
}

base::Status FaultyJobStore::transact(const store::SessionKey& session, const store::RunKey& run,
                                      std::string_view result_json, const store::EffectBody& body) {
    return through(StoreMethod::transact,
                   [&] { return inner_.transact(session, run, result_json, body); });
}

base::Result<store::CancelAnswer> FaultyJobStore::cancel(domain::JobId id) {
    return through(StoreMethod::cancel, [&] { return inner_.cancel(id); });
}

base::Status FaultyJobStore::retry(domain::JobId id) {
    return through(StoreMethod::retry, [&] { return inner_.retry(id); });
}

base::Status FaultyJobStore::remove(domain::JobId id) {
    return through(StoreMethod::remove, [&] { return inner_.remove(id); });
}

base::Status FaultyJobStore::pause_queue(std::string_view queue) {
    return through(StoreMethod::pause_queue, [&] { return inner_.pause_queue(queue); });
}

base::Status FaultyJobStore::resume_queue(std::string_view queue) {
    return through(StoreMethod::resume_queue, [&] { return inner_.resume_queue(queue); });
}

base::Result<std::optional<store::JobRecord>> FaultyJobStore::find(domain::JobId id) {
    return through(StoreMethod::question, [&] { return inner_.find(id); });
}

base::Result<std::vector<store::RunRecord>> FaultyJobStore::runs(domain::JobId id) {
    return through(StoreMethod::question, [&] { return inner_.runs(id); });
}

base::Result<store::JobPage> FaultyJobStore::list(const store::JobFilter& filter) {
    return through(StoreMethod::question, [&] { return inner_.list(filter); });
}

base::Result<std::int64_t> FaultyJobStore::count_outstanding() {
    return through(StoreMethod::question, [&] { return inner_.count_outstanding(); });
}

base::Result<std::vector<store::QueueRecord>> FaultyJobStore::queues() {
    return through(StoreMethod::question, [&] { return inner_.queues(); });
}

base::Result<std::vector<store::SessionRecord>> FaultyJobStore::sessions() {
    return through(StoreMethod::question, [&] { return inner_.sessions(); });
}

base::Result<std::unique_ptr<store::Leadership>> FaultyJobStore::try_lead() {
    DEADMAN_TRY(std::unique_ptr<store::Leadership> leadership,
                through(StoreMethod::try_lead, [&] { return inner_.try_lead(); }));
    if (leadership != nullptr)
        leadership = std::make_unique<FaultyLeadership>(*this, std::move(leadership));
    return leadership;
}

void FaultyJobStore::wait_for_work(std::span<const std::string> queues, base::Duration patience) {
    inner_.wait_for_work(queues, patience);
}

void FaultyJobStore::interrupt() {
    inner_.interrupt();
}

} // namespace deadman::test_support
