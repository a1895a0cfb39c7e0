// Goal:   a client that follows the contract's words on errors loses and doubles nothing, wherever
// a call
//         fails or its answer is lost.
// Method: one scripted workload, played with a fault at call 1, 2, 3 ... until none fires.

#include "tests/support/faulty_job_store.h"

#include <future>
#include <map>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "deadman/store/memory/memory_job_store.h"

namespace deadman::test_support {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::AnswerKind;
using domain::JobState;
using domain::Outcome;
using domain::Verdict;

constexpr int tries = 5;

/// What job_store.h tells a caller to do: unavailable, again; outcome_unknown, `read_back` decides.
template <typename Call, typename ReadBack>
auto insist(const Call& call, const ReadBack& read_back) -> decltype(call()) {
    auto result = call();
    for (int again = 1; again < tries && !result; ++again) {
        if (result.error().code == ErrorCode::unavailable)
            result = call();
        else if (result.error().code == ErrorCode::outcome_unknown)
            result = read_back();
        else
            break;
    }
    return result;
}

template <typename Call> auto insist(const Call& call) -> decltype(call()) {
    return insist(call, call); // idempotent: repeating it is the read-back
}

template <typename T> T need(base::Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().message);
    return std::move(*result);
}

/// A worker in one thread: jobs of kind "flaky" fail at first, transactional ones write an effect.
class ScriptedWorker {
  public:
    ScriptedWorker(FaultyJobStore& store, base::SimulatedClock& clock)
        : store_(store), clock_(clock),
          leadership_(
              need(insist([&] { return store_.try_lead(); }, [&] { return store_.try_lead(); }))) {}

    std::vector<domain::JobId> enqueue() {
        std::vector<domain::JobSpec> specs(5);
        for (std::size_t i = 0; i < specs.size(); ++i) {
            specs[i].kind = i == 1 ? "flaky" : "work";
            specs[i].transactional = i >= 3;
            specs[i].idempotency_key = "request " + std::to_string(i);
        }
        std::vector<domain::JobId> ids;
        for (const auto& one : need(insist([&] { return store_.enqueue(specs); })))
            ids.push_back(one.id);
        return ids;
    }

    void work_until_done() {
        session_ = need(insist([&] { return store_.register_session({.worker = "w"}); }));
        for (int round = 0; round < 30; ++round) {
            work();
            clock_.advance(1s);
            need(insist([&] { return store_.renew(session_.key, {}); }));
            if (leadership_ == nullptr) // the answer to the first try was lost, and it leads nobody
                leadership_ = need(insist([&] { return store_.try_lead(); }));
            if (leadership_ != nullptr)
                need(insist([&] { return leadership_->sweep({}); }));
            if (need(insist([&] { return store_.count_outstanding(); })) == 0)
                break;
        }
        EXPECT_TRUE(insist([&] { return store_.end_session(session_.key, "done"); }));
    }

  private:
    std::vector<store::Claimed> claim() {
        const store::ClaimRequest request{
            .claim_no = ++claim_no_, .queues = {"default"}, .max = 10};
        const auto read = [&] { return store_.claim_result(session_.key, request.claim_no); };
        const auto claim_again = [&]() -> base::Result<std::vector<store::Claimed>> {
            DEADMAN_TRY(auto taken, insist(read));
            if (!taken.empty())
                return taken;
            return store_.claim(session_.key, request); // under the same number
        };
        return need(insist([&] { return store_.claim(session_.key, request); }, claim_again));
    }

    void work() {
        std::vector<store::RunEnd> ends;
        for (const store::Claimed& one : claim()) {
            if (one.solo) {
                write_effect(one);
                continue;
            }
            domain::Answer answer;
            if (one.kind == "flaky" && one.attempts_spent == 0) {
                answer.kind = AnswerKind::error;
                answer.delay = 2s;
            }
            ends.push_back({one.run, answer});
        }
        for (const Verdict verdict : complete(ends))
            EXPECT_TRUE(verdict == Verdict::ok || verdict == Verdict::repeat);
    }

    std::vector<Verdict> complete(const std::vector<store::RunEnd>& ends) {
        return need(insist([&] { return store_.complete(session_.key, ends); }));
    }

    void write_effect(const store::Claimed& one) {
        const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
            DEADMAN_TRY_STATUS(
                transaction.execute("insert into effect values (?1)", {one.run.job.value}));
            return {};
        };
        const auto transact = [&] { return store_.transact(session_.key, one.run, {}, body); };
        const auto read_back = [&]() -> base::Status {
            // `repeat`: it had happened. Otherwise the run is handed back, and comes again.
            domain::Answer back;
            back.kind = AnswerKind::release;
            const Verdict verdict = complete({{one.run, back}}).at(0);
            EXPECT_TRUE(verdict == Verdict::repeat || verdict == Verdict::ok);
            return {};
        };
        EXPECT_TRUE(insist(transact, read_back));
    }

    FaultyJobStore& store_;
    base::SimulatedClock& clock_;
    std::unique_ptr<store::Leadership> leadership_;
    store::Session session_;
    std::int64_t claim_no_ = 0;
};

/// Whether the fault fired.
bool play(const StoreFault& fault) {
    base::SimulatedClock clock;
    store::MemoryJobStore memory(clock);
    FaultyJobStore faulty(memory, clock);
    faulty.arm(fault);
    ScriptedWorker worker(faulty, clock);
    const auto ids = worker.enqueue();
    worker.work_until_done();

    EXPECT_EQ(*memory.count_outstanding(), 0);
    EXPECT_EQ(memory.list({})->jobs.size(), ids.size());
    for (const domain::JobId id : ids) {
        EXPECT_EQ((*memory.find(id))->state, JobState::succeeded);
        int successes = 0;
        for (const store::RunRecord& run : need(memory.runs(id)))
            successes += run.outcome == Outcome::succeeded ? 1 : 0;
        EXPECT_EQ(successes, 1);
    }
    std::map<std::int64_t, int> effects;
    for (const store::CommittedEffect& effect : memory.committed_effects())
        ++effects[std::get<std::int64_t>(effect.parameters.at(0))];
    EXPECT_EQ(effects, (std::map<std::int64_t, int>{{ids[3].value, 1}, {ids[4].value, 1}}));
    return faulty.fired();
}

void walk_fault_through(StoreFault fault) {
    int calls = 0;
    while (play(fault)) {
        if (testing::Test::HasFailure()) {
            ADD_FAILURE() << "with the fault at call " << fault.at_call;
            return;
        }
        ++fault.at_call;
        ++calls;
    }
    EXPECT_GT(calls, 10);
}

TEST(FaultyJobStore, WorkSurvivesACallThatFailsWhereverItIs) {
    walk_fault_through({.kind = StoreFault::Kind::fail_before});
}

TEST(FaultyJobStore, WorkSurvivesALostAnswerWhereverItIs) {
    walk_fault_through({.kind = StoreFault::Kind::unknown_after});
}

TEST(FaultyJobStore, FailsBeforeTheStoreIsCalled) {
    base::SimulatedClock clock;
    store::MemoryJobStore memory(clock);
    FaultyJobStore faulty(memory, clock);
    faulty.arm({.kind = StoreFault::Kind::fail_before, .method = StoreMethod::enqueue});
    domain::JobSpec spec;
    spec.kind = "work";
    EXPECT_EQ(faulty.enqueue({&spec, 1}).error().code, ErrorCode::unavailable);
    EXPECT_TRUE(faulty.fired());
    EXPECT_EQ(*memory.count_outstanding(), 0);
    EXPECT_TRUE(faulty.enqueue({&spec, 1}));
    EXPECT_EQ(faulty.calls(StoreMethod::enqueue), 2);
}

TEST(FaultyJobStore, LosesTheAnswerOfACallThatHappened) {
    base::SimulatedClock clock;
    store::MemoryJobStore memory(clock);
    FaultyJobStore faulty(memory, clock);
    faulty.arm(
        {.kind = StoreFault::Kind::unknown_after, .at_call = 2, .method = StoreMethod::enqueue});
    domain::JobSpec spec;
    spec.kind = "work";
    EXPECT_TRUE(faulty.enqueue({&spec, 1}));
    EXPECT_TRUE(faulty.count_outstanding()); // another method does not count
    EXPECT_FALSE(faulty.fired());
    EXPECT_EQ(faulty.enqueue({&spec, 1}).error().code, ErrorCode::outcome_unknown);
    EXPECT_EQ(*memory.count_outstanding(), 2);
}

TEST(FaultyJobStore, StalledCallGoesThroughWhenTheTimeHasPassed) {
    base::SimulatedClock clock;
    store::MemoryJobStore memory(clock);
    FaultyJobStore faulty(memory, clock);
    const store::Session session = *memory.register_session({.worker = "w"});
    const auto leadership = *memory.try_lead();
    faulty.arm({.kind = StoreFault::Kind::stall, .method = StoreMethod::renew, .stall = 20s});
    auto renewal = std::async(std::launch::async, [&] { return faulty.renew(session.key, {}); });
    while (!faulty.fired())
        std::this_thread::yield();
    while (renewal.wait_for(0s) != std::future_status::ready) {
        clock.advance(1s);
        ASSERT_TRUE(leadership->sweep({}));
        std::this_thread::yield();
    }
    // Its lease was over long before the call came through.
    EXPECT_EQ(renewal.get().error().code, ErrorCode::fenced);
}

} // namespace
} // namespace deadman::test_support
