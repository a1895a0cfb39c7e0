// C05: the end of a run against the reaper, an operator's cancel and the next claimer, 1,000 times.
//
// Goal:   exactly one of them decides what becomes of the run, and the others are told.
// Method: two handles on one file, a simulated clock, threads that start after a random number of
// turns.

#include <atomic>
#include <thread>

#include "deadman/base/random.h"
#include "tests/integration/sqlite_fixture.h"

namespace deadman::integration {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;
using domain::JobState;
using store::CancelAnswer;

class SqliteRaceTest : public SqliteStoreTest {
  protected:
    static constexpr int rounds = 1'000;
    static constexpr std::uint64_t seed = 5;

    void SetUp() override {
        SqliteStoreTest::SetUp();
        options_.path = folder_->path() + "/simulated.db";
        options_.durable = false;
        here_ = std::move(*store::SqliteJobStore::open(options_, simulated_));
        ASSERT_TRUE(here_->migrate().has_value());
        there_ = std::move(*store::SqliteJobStore::open(options_, simulated_));
        auto leader = there_->try_lead();
        ASSERT_TRUE(leader && *leader);
        leader_ = std::move(*leader);
        upkeep_.crash = {.max_crashes = rounds, .first_delay = {}};
    }

    void TearDown() override {
        leader_.reset();
    }

    std::vector<store::Claimed> claim(store::JobStore& store, const store::SessionKey& session) {
        auto claimed =
            store.claim(session, {.claim_no = ++claim_no_, .queues = {"default"}, .max = 1});
        return claimed ? *claimed : std::vector<store::Claimed>{};
    }

    /// Until the next sweep would reap a session that has not renewed.
    void pass_a_lease() {
        for (base::Duration passed{}; passed <= upkeep_.terms.lease;
             passed += upkeep_.terms.sweep) {
            ASSERT_TRUE(leader_->sweep(upkeep_).has_value());
            simulated_.advance(upkeep_.terms.sweep);
        }
    }

    domain::Answer draw_answer() {
        constexpr AnswerKind kinds[] = {AnswerKind::succeeded, AnswerKind::failed,
                                        AnswerKind::error, AnswerKind::snooze};
        domain::Answer answer;
        answer.kind = kinds[random_.below(4)];
        answer.delay = 1h;
        return answer;
    }

    void race_once();
    void judge(domain::JobId id, domain::Verdict verdict, CancelAnswer cancelled,
               const std::vector<store::Claimed>& again);

    base::Random random_{seed};
    base::SimulatedClock simulated_;
    std::unique_ptr<store::JobStore> here_;
    std::unique_ptr<store::JobStore> there_;
    std::unique_ptr<store::Leadership> leader_;
    store::UpkeepRequest upkeep_;
    std::int64_t claim_no_ = 0;
    int fenced_ = 0;
};

void SqliteRaceTest::race_once() {
    const auto id = here_->enqueue(std::vector{spec()})->at(0).id;
    const auto first = here_->register_session({.worker = "first"});
    const auto claimed = claim(*here_, first->key);
    ASSERT_EQ(claimed.size(), 1U);
    pass_a_lease();
    const auto second = there_->register_session({.worker = "second"});

    const domain::Answer answer = draw_answer();
    const std::uint64_t turns = random_.below(random_.chance(0.5) ? 40'000 : 4'000'000);
    domain::Verdict verdict{};
    std::thread ending([&] {
        for (std::uint64_t i = 0; i < turns; ++i)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        const std::vector<store::RunEnd> ends{{claimed.front().run, answer}};
        verdict = here_->complete(first->key, ends)->at(0);
    });
    const CancelAnswer cancelled =
        random_.chance(0.2) ? *there_->cancel(id) : CancelAnswer::not_found;
    const auto report = leader_->sweep(upkeep_);
    const auto again = claim(*there_, second->key);
    ending.join();
    ASSERT_TRUE(report.has_value());
    ASSERT_FALSE(report->grace);
    judge(id, verdict, cancelled, again);
    for (const store::Claimed& job : again)
        static_cast<void>(there_->complete(second->key, std::vector{store::RunEnd{job.run, {}}}));
    if (!domain::is_terminal(here_->find(id)->value().state))
        static_cast<void>(here_->cancel(id));
}

void SqliteRaceTest::judge(domain::JobId id, domain::Verdict verdict, CancelAnswer cancelled,
                           const std::vector<store::Claimed>& again) {
    const bool has_ended = verdict != domain::Verdict::fenced;
    fenced_ += has_ended ? 0 : 1;
    const bool has_lapsed = !has_ended && cancelled != CancelAnswer::requested;
    const auto runs = *here_->runs(id);
    ASSERT_EQ(runs.size(), again.empty() ? 1U : 2U);
    EXPECT_EQ(runs.front().outcome == domain::Outcome::lapse, has_lapsed);
    EXPECT_EQ(!again.empty(), has_lapsed) << "it came back if, and only if, its run lapsed";
    const JobState state = here_->find(id)->value().state;
    if (!again.empty()) {
        EXPECT_EQ(state, JobState::running);
    }
    if (cancelled == CancelAnswer::requested) {
        EXPECT_EQ(state, JobState::cancelled);
    }
}

TEST_F(SqliteRaceTest, ReaperAndEndNeverBothWin) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (int round = 0; round < rounds; ++round) {
        race_once();
        ASSERT_FALSE(HasFailure()) << "round " << round;
    }
    EXPECT_GT(fenced_, rounds / 20);
    EXPECT_LT(fenced_, rounds - rounds / 20);
}

} // namespace
} // namespace deadman::integration
