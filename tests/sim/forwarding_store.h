#pragma once
// ForwardingStore: a JobStore that passes every call on. Decorators override what they change.

#include <memory>

#include "deadman/store/job_store.h"

namespace deadman::sim {

class ForwardingStore : public store::JobStore {
  public:
    explicit ForwardingStore(store::JobStore& inner) : inner_(inner) {}

    std::string_view name() const override {
        return inner_.name();
    }

    base::Result<base::TimePoint> now() override {
        return inner_.now();
    }

    base::Result<store::MigrationReport> migrate() override {
        return inner_.migrate();
    }

    base::Result<std::vector<store::Finding>> examine() override {
        return inner_.examine();
    }

    base::Result<std::vector<store::Enqueued>>
    enqueue(std::span<const domain::JobSpec> specs) override {
        return inner_.enqueue(specs);
    }

    base::Result<store::Session> register_session(const store::SessionSpec& spec) override {
        return inner_.register_session(spec);
    }

    base::Result<store::Renewal> renew(const store::SessionKey& session,
                                       const store::RenewRequest& request) override {
        return inner_.renew(session, request);
    }

    base::Status end_session(const store::SessionKey& session, std::string_view reason) override {
        return inner_.end_session(session, reason);
    }

    base::Result<std::vector<store::Claimed>> claim(const store::SessionKey& session,
                                                    const store::ClaimRequest& request) override {
        return inner_.claim(session, request);
    }

    base::Result<std::vector<store::Claimed>> claim_result(const store::SessionKey& session,
                                                           std::int64_t claim_no) override {
        return inner_.claim_result(session, claim_no);
    }

    base::Result<std::vector<domain::Verdict>>
    complete(const store::SessionKey& session, std::span<const store::RunEnd> ends) override {
        return inner_.complete(session, ends);
    }

    base::Status transact(const store::SessionKey& session, const store::RunKey& run,
                          std::string_view result_json, const store::EffectBody& body) override {
        return inner_.transact(session, run, result_json, body);
    }

    base::Result<store::CancelAnswer> cancel(domain::JobId id) override {
        return inner_.cancel(id);
    }

    base::Status retry(domain::JobId id) override {
        return inner_.retry(id);
    }

    base::Status remove(domain::JobId id) override {
        return inner_.remove(id);
    }

    base::Status pause_queue(std::string_view queue) override {
        return inner_.pause_queue(queue);
    }

    base::Status resume_queue(std::string_view queue) override {
        return inner_.resume_queue(queue);
    }

    base::Result<std::optional<store::JobRecord>> find(domain::JobId id) override {
        return inner_.find(id);
    }

    base::Result<std::vector<store::RunRecord>> runs(domain::JobId id) override {
        return inner_.runs(id);
    }

    base::Result<store::JobPage> list(const store::JobFilter& filter) override {
        return inner_.list(filter);
    }

    base::Result<std::int64_t> count_outstanding() override {
        return inner_.count_outstanding();
    }

    base::Result<std::vector<store::QueueRecord>> queues() override {
        return inner_.queues();
    }

    base::Result<std::vector<store::SessionRecord>> sessions() override {
        return inner_.sessions();
    }

    base::Result<std::unique_ptr<store::Leadership>> try_lead() override {
        return inner_.try_lead();
    }

    void wait_for_work(std::span<const std::string> queues, base::Duration patience) override {
        inner_.wait_for_work(queues, patience);
    }

    void interrupt() override {
        inner_.interrupt();
    }

  protected:
    store::JobStore& inner_;
};

} // namespace deadman::sim
