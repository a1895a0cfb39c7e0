#pragma once
// Feeds a WorkerCore by hand and keeps what it asks for, for its unit tests.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "deadman/worker/worker_core.h"

namespace deadman::worker::testing {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::Answer;
using domain::AnswerKind;
using domain::Verdict;

class WorkerCoreHarness : public ::testing::Test {
  protected:
    static WorkerOptions options() {
        WorkerOptions options;
        options.slots = 2;
        options.prefetch = 4;
        options.kinds = {"known"};
        options.seed = 1;
        return options;
    }

    explicit WorkerCoreHarness(WorkerOptions with = options()) : core(resolved(std::move(with))) {}

    // --- time: starts at an hour, so that nothing depends on zero

    void pass(base::Duration by) {
        now += by;
        keep(core.tick(now));
    }

    /// Ticks whenever the core asks for it, until `by` has passed.
    void live(base::Duration by) {
        const base::SteadyTime until = now + by;
        while (core.next_wake() <= until) {
            now = std::max(now + 1us, core.next_wake());
            keep(core.tick(now));
        }
        now = std::max(now, until);
        keep(core.tick(now));
    }

    // --- what was asked for

    void keep(Actions more) {
        for (Action& action : more)
            actions.push_back(std::move(action));
    }

    /// Takes out the first action of that type.
    template <typename T> std::optional<T> take() {
        for (auto action = actions.begin(); action != actions.end(); ++action) {
            if (T* wanted = std::get_if<T>(&*action)) {
                T found = std::move(*wanted);
                actions.erase(action);
                return found;
            }
        }
        return std::nullopt;
    }

    template <typename T> std::vector<T> take_all() {
        std::vector<T> all;
        while (auto one = take<T>())
            all.push_back(std::move(*one));
        return all;
    }

    template <typename T> bool asked() const {
        return std::any_of(actions.begin(), actions.end(),
                           [](const Action& action) { return std::holds_alternative<T>(action); });
    }

    std::vector<Report> reports(ReportKind kind) {
        std::vector<Report> found;
        for (Report& report : take_all<Report>())
            if (report.kind == kind)
                found.push_back(std::move(report));
        return found;
    }

    // --- what happens

    void start_session(std::int64_t id = 1) {
        if (!asked<Register>())
            keep(core.start(now));
        ASSERT_TRUE(take<Register>());
        keep(core.registered(now, now, session(id)));
        take_all<Report>();
    }

    static store::Session session(std::int64_t id = 1) {
        const domain::LeaseTerms terms;
        return {.key = {domain::SessionId{id}, "key"},
                .renew_every = terms.heartbeat,
                .cancel_after = domain::cancel_after(terms),
                .leave_after = domain::leave_after(terms)};
    }

    static store::Claimed claimed(std::int64_t job, std::int64_t fence,
                                  const std::string& kind = "known") {
        store::Claimed claimed;
        claimed.run = {domain::JobId{job}, domain::Fence{fence}};
        claimed.kind = kind;
        claimed.timeout = {};
        return claimed;
    }

    static std::vector<store::Claimed> jobs(std::int64_t first, std::int64_t last,
                                            std::int64_t fence) {
        std::vector<store::Claimed> all;
        for (std::int64_t job = first; job <= last; ++job)
            all.push_back(claimed(job, fence));
        return all;
    }

    /// Answers the claim asked for.
    std::int64_t give(std::vector<store::Claimed> runs) {
        const auto claim = take<Claim>();
        EXPECT_TRUE(claim);
        keep(core.claim_answered(now, claim->request.claim_no, std::move(runs)));
        return claim->request.claim_no;
    }

    void give_error(ErrorCode code) {
        const auto claim = take<Claim>();
        ASSERT_TRUE(claim);
        keep(core.claim_answered(now, claim->request.claim_no, base::fail(code, "no")));
    }

    void finish(const store::RunKey& run, Answer answer = {},
                TransactionOutcome transaction = TransactionOutcome::none) {
        keep(core.run_finished(now, run, std::move(answer), transaction));
    }

    /// Answers the batch asked for, with one verdict for all; gives the ends it carried.
    std::vector<store::RunEnd> settle_batch(Verdict verdict = Verdict::ok) {
        const auto batch = take<Complete>();
        EXPECT_TRUE(batch);
        if (!batch)
            return {};
        keep(core.completed(now, batch->batch_no,
                            std::vector<Verdict>(batch->ends.size(), verdict)));
        return batch->ends;
    }

    /// Acknowledges the renewal asked for, naming what the store still has.
    void acknowledge(std::vector<store::HeldLease> leases = {}) {
        const auto renew = take<Renew>();
        ASSERT_TRUE(renew);
        keep(core.renewed(now, renew->renew_no, now, store::Renewal{std::move(leases)}));
    }

    static store::HeldLease lease(std::int64_t fence, std::int64_t claim_no,
                                  std::vector<std::int64_t> unended,
                                  std::vector<std::int64_t> cancel = {}) {
        store::HeldLease lease{.fence = domain::Fence{fence}, .claim_no = claim_no};
        for (const std::int64_t job : unended)
            lease.unended.push_back(domain::JobId{job});
        for (const std::int64_t job : cancel)
            lease.cancel_requested.push_back(domain::JobId{job});
        return lease;
    }

    static store::RunKey key(std::int64_t job, std::int64_t fence) {
        return {domain::JobId{job}, domain::Fence{fence}};
    }

    base::SteadyTime now{1h};
    WorkerCore core;
    Actions actions;
};

} // namespace deadman::worker::testing
