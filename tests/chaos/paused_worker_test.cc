// Goal:   a worker that is paused past its lease and woken can do no harm. Outside a transaction
// each of
//         its ends is refused and no effect is doubled; inside one, Postgres rescues the job, and
//         SQLite waits, names who is waited for, and loses and doubles nothing.
// Method: real processes that stop themselves (SIGSTOP) with a hundred runs in hand. The test waits
// for
//         the lapses, lets another worker do the jobs, wakes the first, and looks at the tables by
//         plain SQL.

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/deadman/chaos/journal.h"
#include "apps/deadman/chaos/probe.h"
#include "deadman/platform/process.h"
#include "deadman/scheduler/upkeep.h"
#include "tests/chaos/pausing_worker.h"

namespace deadman::chaos_test {
namespace {

using namespace std::chrono_literals;
using chaos::JournalEntry;
using chaos::Note;
using testing::HasSubstr;

constexpr base::Duration patience = 40s;

class PausedWorker : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        auto made = ThrowawayStore::resolve(*parse_store_url(GetParam()));
        ASSERT_TRUE(made) << made.error().message;
        throwaway_.emplace(std::move(*made));
        auto opened = open_store(throwaway_->url(), clock_);
        ASSERT_TRUE(opened) << opened.error().message;
        store_ = std::move(*opened);
        ASSERT_TRUE(store_->migrate());
        auto probe = chaos::open_probe(throwaway_->url(), queue);
        ASSERT_TRUE(probe) << probe.error().message;
        probe_ = std::move(*probe);
        ASSERT_TRUE(probe_->execute(std::string("CREATE TABLE ") + effects +
                                    " (job_id BIGINT NOT NULL, fence BIGINT NOT NULL)"));
        upkeep_.emplace(
            store::UpkeepRequest{.terms = domain::LeaseTerms::scaled_to(lease),
                                 .crash = {.max_crashes = 1'000, .first_delay = {}}},
            scheduler::UpkeepSurroundings{
                .store = *store_, .clock = clock_, .log = nullptr, .on_sweep = nullptr});
        sweeping_ = std::jthread([this](std::stop_token stop) { upkeep_->run(std::move(stop)); });
    }

    bool is_sqlite() const {
        return throwaway_->url().kind == StoreUrl::Kind::sqlite;
    }

    void enqueue(int jobs, bool transactional) {
        domain::JobSpec spec;
        spec.kind = kind;
        spec.queue = queue;
        spec.transactional = transactional;
        ASSERT_TRUE(store_->enqueue(std::vector(static_cast<std::size_t>(jobs), spec)));
        jobs_ = jobs;
    }

    platform::ChildProcess start(Place place, int runs) {
        platform::SpawnOptions options;
        options.argv = command_line(
            {.store = throwaway_->url(), .place = place, .runs = runs, .folder = folder_.path()});
        options.argv.insert(options.argv.begin(), platform::executable_path().value());
        options.stdout_to = platform::StreamTo::null;
        auto child = platform::ChildProcess::spawn(options);
        EXPECT_TRUE(child);
        return std::move(*child);
    }

    // Looks every few milliseconds: what is waited for happens in other processes.
    bool eventually(const std::function<bool()>& condition, base::Duration longest = patience) {
        const base::SteadyTime deadline = clock_.steady_now() + longest;
        while (!condition()) {
            if (clock_.steady_now() > deadline)
                return false;
            std::mutex mutex;
            std::condition_variable never;
            std::unique_lock lock(mutex);
            clock_.wait_until(lock, never, clock_.steady_now() + 10ms, [] { return false; });
        }
        return true;
    }

    std::size_t noted(Note note, int pid) {
        for (JournalEntry& entry : reader_.read_new())
            journal_.push_back(std::move(entry));
        std::set<store::RunKey> runs;
        for (const JournalEntry& entry : journal_)
            if (entry.note == note && entry.pid == pid)
                runs.insert(entry.run);
        return runs.size();
    }

    std::int64_t lapsed() {
        return probe_->totals().value().lapsed;
    }

    std::int64_t succeeded() {
        return probe_->totals().value().succeeded;
    }

    // Each job succeeded, and its effect is there once.
    void expect_one_effect_each() {
        EXPECT_EQ(succeeded(), jobs_);
        const auto counts = probe_->effects(effects).value();
        EXPECT_EQ(std::ssize(counts), jobs_);
        for (const auto& [job, count] : counts)
            EXPECT_EQ(count, 1) << "job " << job;
    }

    std::string log() {
        return platform::read_file(log_of(folder_.path()), 64 << 20).value();
    }

    base::SystemClock clock_;
    std::optional<ThrowawayStore> throwaway_;
    platform::TemporaryDirectory folder_ =
        std::move(*platform::TemporaryDirectory::create("deadman-paused-test"));
    std::unique_ptr<store::JobStore> store_;
    std::unique_ptr<chaos::Probe> probe_;
    std::optional<scheduler::Upkeep> upkeep_;
    chaos::JournalReader reader_{journal_of(folder_.path())};
    std::vector<JournalEntry> journal_;
    std::int64_t jobs_ = 0;
    std::jthread sweeping_;
};

TEST_P(PausedWorker, InItsHandlersIsRefusedAHundredTimesOfAHundred) {
    enqueue(100, true);
    platform::ChildProcess paused = start(Place::in_handler, 100);
    ASSERT_TRUE(eventually([&] { return lapsed() == 100; }));
    platform::ChildProcess steady = start(Place::nowhere, 8);
    ASSERT_TRUE(eventually([&] { return succeeded() == 100; }));

    paused.resume_process();
    ASSERT_TRUE(eventually([&] { return noted(Note::refused, paused.pid()) == 100; }))
        << noted(Note::refused, paused.pid());
    EXPECT_EQ(noted(Note::effect, paused.pid()), 0U);
    expect_one_effect_each();
    EXPECT_THAT(log(), testing::AnyOf(HasSubstr("lease_uncertain"), HasSubstr("session_lost"),
                                      HasSubstr("worker_leaves_process")));
}

TEST_P(PausedWorker, BetweenEffectAndAnswerIsRefusedAHundredTimesOfAHundred) {
    enqueue(100, false);
    platform::ChildProcess paused = start(Place::before_answer, 100);
    ASSERT_TRUE(eventually([&] { return lapsed() == 100; }));
    EXPECT_EQ(noted(Note::effect, paused.pid()), 100U);
    platform::ChildProcess steady = start(Place::nowhere, 8);
    ASSERT_TRUE(eventually([&] { return succeeded() == 100; }));

    paused.resume_process();
    ASSERT_TRUE(eventually([&] { return noted(Note::wakes, paused.pid()) == 1; }));
    ASSERT_TRUE(eventually([&] { return noted(Note::refused, paused.pid()) == 100; }))
        << noted(Note::refused, paused.pid());
    expect_one_effect_each();
    EXPECT_THAT(log(), HasSubstr("lease_lost"));
}

TEST_P(PausedWorker, AfterItsCommitLeavesJobsThatHadSucceededAsTheyAre) {
    enqueue(20, true);
    platform::ChildProcess paused = start(Place::after_commit, 20);
    ASSERT_TRUE(eventually([&] { return noted(Note::pauses, paused.pid()) == 1; }));
    ASSERT_TRUE(eventually([&] {
        const auto sessions = probe_->sessions().value();
        return std::ranges::any_of(sessions, [&](const auto& session) {
            return session.second.pid == paused.pid() && session.second.ended;
        });
    }));
    expect_one_effect_each();
    paused.resume_process();
    ASSERT_TRUE(eventually([&] { return noted(Note::wakes, paused.pid()) == 1; }));
    expect_one_effect_each();
    EXPECT_EQ(lapsed(), 0);
}

TEST_P(PausedWorker, ThatDoesNotFenceItselfIsRefusedByTheStore) {
    enqueue(100, true);
    platform::ChildProcess paused = start(Place::without_worker, 100);
    ASSERT_TRUE(eventually([&] { return lapsed() == 100; }));
    // Half of the jobs are done by another when it wakes, the others are not.
    {
        platform::ChildProcess steady = start(Place::nowhere, 4);
        ASSERT_TRUE(eventually([&] { return succeeded() >= 50; }));
    }
    paused.resume_process();
    ASSERT_TRUE(eventually([&] { return noted(Note::refused, paused.pid()) == 100; }))
        << noted(Note::refused, paused.pid());
    EXPECT_EQ(noted(Note::effect, paused.pid()), 0U);
    ASSERT_EQ(paused.wait(patience)->code, 0);
    platform::ChildProcess steady = start(Place::nowhere, 4);
    ASSERT_TRUE(eventually([&] { return succeeded() == 100; }));
    expect_one_effect_each();
}

TEST_P(PausedWorker, InsideATransactionIsRescuedByPostgresAndNamedBySqlite) {
    enqueue(10, true);
    platform::ChildProcess paused = start(Place::in_transaction, 1);
    ASSERT_TRUE(eventually([&] { return noted(Note::pauses, paused.pid()) == 1; }));
    const std::int64_t done_before = succeeded();
    platform::ChildProcess steady = start(Place::nowhere, 2);
    if (is_sqlite()) {
        // Nobody can write; who is in the way is named, well past its lease.
        ASSERT_TRUE(eventually([&] {
            const auto findings = store_->examine();
            return findings && std::ranges::any_of(*findings, [&](const store::Finding& finding) {
                       return finding.name == "blocked_by_writer" &&
                              finding.message.find(std::to_string(paused.pid())) !=
                                  std::string::npos;
                   });
        }));
        EXPECT_FALSE(eventually([&] { return succeeded() > done_before; }, lease * 3 / 2));
    } else {
        ASSERT_TRUE(eventually([&] { return succeeded() == jobs_; }));
        expect_one_effect_each();
    }
    paused.resume_process();
    ASSERT_TRUE(eventually([&] { return succeeded() == jobs_; }));
    ASSERT_TRUE(eventually([&] { return noted(Note::wakes, paused.pid()) == 1; }));
    if (!is_sqlite()) {
        ASSERT_TRUE(eventually([&] { return noted(Note::refused, paused.pid()) >= 1; }));
    }
    expect_one_effect_each();
}

INSTANTIATE_TEST_SUITE_P(Stores, PausedWorker, testing::Values("sqlite:auto", "postgres:auto"),
                         [](const auto& store) {
                             return std::string(store.index == 0 ? "Sqlite" : "Postgres");
                         });

} // namespace
} // namespace deadman::chaos_test

int main(int argc, char** argv) {
    if (const auto worker = deadman::chaos_test::parse_command_line(argc, argv))
        return deadman::chaos_test::be_pausing_worker(*worker);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}
