// Many threads on one store: nothing is lost, doubled, miscounted, or deadlocked. Bounded by work,
// not by time.

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "deadman/base/random.h"
#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;
using domain::JobState;
using domain::Verdict;

constexpr std::uint64_t seed = 20'260'501;

/// Runs each on a thread of its own; an exception of any of them fails the test.
void run_together(const std::vector<std::function<void()>>& parts) {
    std::vector<std::future<void>> running;
    for (const auto& part : parts)
        running.push_back(std::async(std::launch::async, part));
    for (auto& part : running)
        part.get();
}

TEST_P(JobStoreContract, ParallelClaimsShareNothing) {
    const auto ids = enqueue_many(200, spec());
    std::mutex mutex;
    std::multiset<domain::JobId> taken;
    const auto worker = [&] {
        const store::Session session = open_session();
        while (true) {
            const auto claimed = claim(session, 7);
            if (claimed.empty())
                return;
            std::vector<store::RunEnd> ends;
            for (const store::Claimed& one : claimed)
                ends.push_back({one.run, {}});
            for (const Verdict verdict : value(store().complete(session.key, ends)))
                EXPECT_EQ(verdict, Verdict::ok);
            const std::lock_guard lock(mutex);
            for (const store::Claimed& one : claimed)
                taken.insert(one.run.job);
        }
    };
    run_together({worker, worker, worker, worker});
    // A claim may come back empty while another's rows are locked: what is left is taken now.
    worker();
    EXPECT_EQ(taken, std::multiset(ids.begin(), ids.end()));
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, ParallelEnqueuesWithOneIdempotencyKeyMakeOneJob) {
    domain::JobSpec made = spec();
    made.idempotency_key = "once";
    std::mutex mutex;
    std::set<domain::JobId> ids;
    int created = 0;
    const std::vector<std::function<void()>> clients(50, [&] {
        const store::Enqueued one = value(store().enqueue({&made, 1})).at(0);
        const std::lock_guard lock(mutex);
        ids.insert(one.id);
        created += one.is_new ? 1 : 0;
        EXPECT_NE(one.is_new, one.replayed);
    });
    run_together(clients);
    EXPECT_EQ(ids.size(), 1u);
    EXPECT_EQ(created, 1);
    EXPECT_EQ(outstanding(), 1);
}

TEST_P(JobStoreContract, ParallelEnqueuesWithOneUniqueKeyMakeOneJob) {
    domain::JobSpec made = spec();
    made.unique_key = "once";
    std::atomic<int> created = 0;
    const std::vector<std::function<void()>> clients(20, [&] {
        if (value(store().enqueue({&made, 1})).at(0).is_new)
            ++created;
    });
    run_together(clients);
    EXPECT_EQ(created, 1);
    EXPECT_EQ(outstanding(), 1);
}

TEST_P(JobStoreContract, JobsThatMoveAreNeverMiscounted) {
    constexpr int jobs = 40;
    enqueue_many(jobs, spec());
    constexpr int looks_wanted = 30;
    std::atomic<bool> moving = true;
    std::atomic<int> looks = 0;
    const auto mover = [&] {
        const store::Session session = open_session();
        base::Random random(seed);
        for (int round = 0; round < 60 || looks < looks_wanted; ++round) {
            std::vector<store::RunEnd> ends;
            for (const store::Claimed& one : claim(session, 10)) {
                const AnswerKind kinds[] = {AnswerKind::snooze, AnswerKind::release,
                                            AnswerKind::release};
                ends.push_back({one.run, answer(kinds[random.below(3)])});
            }
            value(store().complete(session.key, ends));
            sweep();
        }
        moving = false;
    };
    const auto counter = [&] {
        for (; moving; ++looks)
            if (const std::int64_t counted = outstanding(); counted != jobs) {
                ADD_FAILURE() << counted << " of " << jobs;
                looks = looks_wanted;
                return;
            }
    };
    run_together({mover, counter, counter});
}

TEST_P(JobStoreContract, EndAndReaperRaceToOneOutcome) {
    for (int round = 0; round < 20; ++round) {
        const domain::JobId id = enqueue(spec());
        const store::Session session = open_session();
        const store::Claimed claimed = claim_one(session);
        sweep();
        pass(terms.lease - terms.sweep / 2);
        fixture().advance(terms.sweep);
        Verdict verdict = Verdict::busy;
        run_together({[&] { verdict = succeed(session, claimed.run); }, [&] { sweep(); }});
        pass(2 * terms.sweep);
        if (verdict == Verdict::ok) {
            EXPECT_EQ(state(id), JobState::succeeded);
        } else {
            EXPECT_EQ(verdict, Verdict::fenced);
            EXPECT_EQ(state(id), JobState::pending);
            value(store().cancel(id));
        }
        EXPECT_EQ(runs(id).at(0).claimed_at, claimed.claimed_at);
        EXPECT_EQ(outstanding(), 0);
    }
}

TEST_P(JobStoreContract, CancelAndEndRaceToOneWinner) {
    const store::Session session = open_session();
    for (int round = 0; round < 50; ++round) {
        const domain::JobId id = enqueue(spec());
        const store::Claimed claimed = claim_one(session);
        const AnswerKind kind = round % 2 == 0 ? AnswerKind::succeeded : AnswerKind::failed;
        Verdict verdict = Verdict::busy;
        store::CancelAnswer cancelled = store::CancelAnswer::unknown;
        run_together({[&] { verdict = complete(session, claimed.run, answer(kind)); },
                      [&] { cancelled = value(store().cancel(id)); }});
        if (cancelled == store::CancelAnswer::requested) {
            EXPECT_EQ(verdict, Verdict::cancelled);
            EXPECT_EQ(state(id), JobState::cancelled);
        } else {
            EXPECT_EQ(cancelled, store::CancelAnswer::already_finished);
            EXPECT_EQ(verdict, Verdict::ok);
            EXPECT_EQ(state(id),
                      kind == AnswerKind::succeeded ? JobState::succeeded : JobState::failed);
        }
    }
}

TEST_P(JobStoreContract, CancelAndClaimRaceToOneWinner) {
    const store::Session session = open_session();
    for (int round = 0; round < 50; ++round) {
        const domain::JobId id = enqueue(spec());
        std::vector<store::Claimed> claimed;
        store::CancelAnswer cancelled = store::CancelAnswer::unknown;
        run_together(
            {[&] { claimed = claim(session, 1); }, [&] { cancelled = value(store().cancel(id)); }});
        if (claimed.empty()) {
            EXPECT_EQ(cancelled, store::CancelAnswer::cancelled);
        } else {
            EXPECT_EQ(cancelled, store::CancelAnswer::requested);
            EXPECT_EQ(succeed(session, claimed[0].run), Verdict::cancelled);
        }
        EXPECT_EQ(state(id), JobState::cancelled);
    }
}

// Enqueues, ends, cancels, retries and upkeep lock the same rows; each draws them in an order of
// its own.
TEST_P(JobStoreContract, OverlappingBatchesDoNotDeadlock) {
    constexpr std::uint64_t keys = 40;
    const auto key = [](std::uint64_t number) { return "key " + std::to_string(number); };
    const auto enqueuer = [&](std::uint64_t salt) {
        base::Random random(seed + salt);
        for (int round = 0; round < 25; ++round) {
            std::vector<domain::JobSpec> specs;
            for (int i = 0; i < 20; ++i) {
                specs.push_back(spec());
                specs.back().unique_key = key(random.below(keys));
                if (random.chance(0.3))
                    specs.back().idempotency_key = specs.back().unique_key;
            }
            value(store().enqueue(specs));
        }
    };
    const auto worker = [&](std::uint64_t salt) {
        base::Random random(seed + salt);
        const store::Session session = open_session();
        for (int round = 0; round < 25; ++round) {
            std::vector<store::RunEnd> ends;
            for (const store::Claimed& one : claim(session, 20))
                ends.push_back({one.run, answer(random.chance(0.5) ? AnswerKind::succeeded
                                                                   : AnswerKind::failed)});
            for (std::size_t i = ends.size(); i > 1; --i)
                std::swap(ends[i - 1], ends[random.below(i)]);
            value(store().complete(session.key, ends));
        }
    };
    const auto operators = [&](std::uint64_t salt) {
        base::Random random(seed + salt);
        for (int round = 0; round < 25; ++round) {
            // The jobs move meanwhile: any answer but a failure will do.
            for (const store::JobRecord& job : value(store().list({.limit = 20})).jobs) {
                if (random.chance(0.5)) {
                    value(store().cancel(job.id));
                    continue;
                }
                const auto code = code_of(store().retry(job.id));
                EXPECT_TRUE(!code || code == base::ErrorCode::conflict ||
                            code == base::ErrorCode::not_found);
            }
            sweep();
        }
    };
    run_together({[&] { enqueuer(1); }, [&] { enqueuer(2); }, [&] { enqueuer(3); },
                  [&] { enqueuer(4); }, [&] { worker(5); }, [&] { worker(6); },
                  [&] { operators(7); }});

    std::map<std::string, int> active;
    store::JobFilter unfinished{
        .states = {JobState::pending, JobState::scheduled, JobState::running}, .limit = 1'000};
    for (const store::JobRecord& job : value(store().list(unfinished)).jobs)
        ++active[job.unique_key];
    for (const auto& [name, count] : active)
        EXPECT_EQ(count, 1) << name;
    EXPECT_EQ(outstanding(), static_cast<std::int64_t>(active.size()));
}

} // namespace
} // namespace deadman::contract
