#include "tests/contract/job_store_contract.h"

namespace deadman::contract {

using namespace std::chrono_literals;

void JobStoreContract::SetUp() {
    fixture_ = GetParam().make();
    const base::Status opened = fixture_->open();
    ASSERT_TRUE(opened) << opened.error().message;
}

domain::JobSpec JobStoreContract::spec(std::string kind) {
    domain::JobSpec made;
    made.kind = std::move(kind);
    return made;
}

domain::JobSpec JobStoreContract::transactional_spec() {
    domain::JobSpec made = spec();
    made.transactional = true;
    return made;
}

domain::JobId JobStoreContract::enqueue(const domain::JobSpec& spec) {
    return value(store().enqueue({&spec, 1})).at(0).id;
}

std::vector<domain::JobId> JobStoreContract::enqueue_many(int count, const domain::JobSpec& spec) {
    const std::vector<domain::JobSpec> specs(static_cast<std::size_t>(count), spec);
    std::vector<domain::JobId> ids;
    for (const store::Enqueued& enqueued : value(store().enqueue(specs)))
        ids.push_back(enqueued.id);
    return ids;
}

store::Session JobStoreContract::open_session(const std::string& worker) {
    store::SessionSpec made;
    made.worker = worker;
    made.host = "host";
    made.pid = 4711;
    made.version = "test";
    made.queues = {"default"};
    made.kinds = {"work"};
    made.slots = 4;
    made.terms = terms;
    return value(store().register_session(made));
}

store::ClaimRequest JobStoreContract::claim_request(int max, std::vector<std::string> queues) {
    return {.claim_no = next_claim_no_++, .queues = std::move(queues), .max = max};
}

std::vector<store::Claimed> JobStoreContract::claim(const store::Session& session, int max,
                                                    std::vector<std::string> queues) {
    return value(store().claim(session.key, claim_request(max, std::move(queues))));
}

store::Claimed JobStoreContract::claim_one(const store::Session& session) {
    auto claimed = claim(session, 1);
    EXPECT_EQ(claimed.size(), 1u);
    return claimed.empty() ? store::Claimed{} : claimed[0];
}

std::vector<store::Claimed> JobStoreContract::claim_suspect(const store::Session& session) {
    store::ClaimRequest request = claim_request(1);
    request.suspect = true;
    return value(store().claim(session.key, request));
}

domain::Verdict JobStoreContract::complete(const store::Session& session, const store::RunKey& run,
                                           const domain::Answer& answer) {
    const store::RunEnd end{run, answer};
    return value(store().complete(session.key, {&end, 1})).at(0);
}

domain::Verdict JobStoreContract::succeed(const store::Session& session, const store::RunKey& run) {
    return complete(session, run, {});
}

store::Renewal JobStoreContract::renew(const store::Session& session,
                                       std::vector<domain::JobId> started) {
    return value(store().renew(session.key, {.started = std::move(started)}));
}

store::JobRecord JobStoreContract::record(domain::JobId id) {
    return value(store().find(id)).value();
}

domain::JobState JobStoreContract::state(domain::JobId id) {
    return record(id).state;
}

std::vector<store::RunRecord> JobStoreContract::runs(domain::JobId id) {
    return value(store().runs(id));
}

std::int64_t JobStoreContract::outstanding() {
    return value(store().count_outstanding());
}

store::UpkeepReport JobStoreContract::sweep() {
    return sweep(upkeep);
}

store::UpkeepReport JobStoreContract::sweep(const store::UpkeepRequest& request) {
    if (leadership_ == nullptr)
        leadership_ = value(store().try_lead());
    if (leadership_ == nullptr) {
        ADD_FAILURE() << "another leads";
        return {};
    }
    return value(leadership_->sweep(request));
}

void JobStoreContract::give_up_leadership() {
    leadership_.reset();
}

store::UpkeepReport JobStoreContract::pass(base::Duration by) {
    return pass(by, {});
}

store::UpkeepReport JobStoreContract::pass(base::Duration by,
                                           const std::vector<store::Session>& alive,
                                           const std::vector<domain::JobId>& started) {
    store::UpkeepReport total;
    for (base::Duration left = by; left > 0us; left -= upkeep.terms.sweep) {
        fixture().advance(std::min<base::Duration>(left, upkeep.terms.sweep));
        for (const store::Session& session : alive)
            renew(session, started);
        const store::UpkeepReport report = sweep();
        total.still_leader = total.still_leader && report.still_leader;
        total.grace = total.grace || report.grace;
        total.sessions_lapsed += report.sessions_lapsed;
        total.runs_returned += report.runs_returned;
        total.quarantined += report.quarantined;
        total.promoted += report.promoted;
        total.pruned += report.pruned;
    }
    return total;
}

void JobStoreContract::let_lapse() {
    pass(terms.lease + 2 * terms.sweep);
}

domain::JobId JobStoreContract::make_suspect(const std::string& queue) {
    domain::JobSpec made = spec();
    made.queue = queue;
    const domain::JobId pill = enqueue_many(2, made).front();
    while (!domain::is_suspect(record(pill).blame)) {
        const store::Session victim = open_session();
        if (claim(victim, 100, {queue}).size() != 2)
            throw std::runtime_error(
                "make_suspect: the pill or its neighbour could not be claimed");
        renew(victim, {pill});
        let_lapse();
    }
    const store::Session session = open_session();
    for (const store::Claimed& neighbour : claim(session, 100, {queue}))
        succeed(session, neighbour.run);
    value(store().end_session(session.key, "done"));
    return pill;
}

std::vector<domain::JobId> ids_of(const std::vector<store::Claimed>& claimed) {
    std::vector<domain::JobId> ids;
    for (const store::Claimed& one : claimed)
        ids.push_back(one.run.job);
    return ids;
}

domain::Answer answer(domain::AnswerKind kind, base::Duration delay) {
    domain::Answer made;
    made.kind = kind;
    made.delay = delay;
    return made;
}

} // namespace deadman::contract
