// Claims: what is taken, in which order, and that a claim can be read back.

#include <algorithm>
#include <thread>

#include "deadman/base/clock.h"
#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::AnswerKind;
using domain::JobState;

TEST_P(JobStoreContract, ClaimCarriesWhatTheRunNeeds) {
    domain::JobSpec made = transactional_spec();
    made.payload = R"({"n":1})";
    made.max_attempts = 4;
    made.retry = {domain::RetryPolicy::Kind::fixed, 3s, 9s, 0.0};
    made.timeout = 7s;
    const domain::JobId id = enqueue(made);
    const store::Session session = open_session("w-1");
    const store::Claimed claimed = claim_one(session);
    EXPECT_EQ(claimed.run.job, id);
    EXPECT_GT(claimed.run.fence.value, 0);
    EXPECT_TRUE(claimed.solo);
    EXPECT_EQ(claimed.kind, made.kind);
    EXPECT_EQ(claimed.queue, made.queue);
    EXPECT_EQ(claimed.payload, made.payload);
    EXPECT_EQ(claimed.attempts_spent, 0);
    EXPECT_EQ(claimed.max_attempts, made.max_attempts);
    EXPECT_EQ(claimed.retry, made.retry);
    EXPECT_EQ(claimed.timeout, made.timeout);
    EXPECT_EQ(claimed.blame, domain::Blame{});

    const store::JobRecord found = record(id);
    EXPECT_EQ(found.state, JobState::running);
    EXPECT_EQ(found.fence, claimed.run.fence);
    EXPECT_EQ(found.session, session.key.id);
    EXPECT_EQ(found.worker, "w-1");
    EXPECT_EQ(found.claimed_at, claimed.claimed_at);
    ASSERT_EQ(runs(id).size(), 1u);
    EXPECT_EQ(runs(id)[0].outcome, domain::Outcome::running);
    EXPECT_EQ(runs(id)[0].fence, claimed.run.fence);
    EXPECT_EQ(runs(id)[0].worker, "w-1");
}

TEST_P(JobStoreContract, ClaimTakesTheOldestOfTheLowestPriorityFirst) {
    std::vector<domain::JobId> expected(30);
    for (int round = 0; round < 10; ++round) {
        for (const int priority : {9, 0, 5}) {
            domain::JobSpec made = spec();
            made.priority = priority;
            const int rank = priority == 0 ? 0 : priority == 5 ? 1 : 2;
            expected[static_cast<std::size_t>(rank * 10 + round)] = enqueue(made);
        }
    }
    const store::Session session = open_session();
    std::vector<domain::JobId> taken;
    for (const int max : {1, 1, 4, 7, 100})
        std::ranges::copy(ids_of(claim(session, max)), std::back_inserter(taken));
    EXPECT_EQ(taken, expected);
}

TEST_P(JobStoreContract, ClaimTakesNoMoreThanAsked) {
    enqueue_many(10, spec());
    const store::Session session = open_session();
    EXPECT_EQ(claim(session, 3).size(), 3u);
    EXPECT_EQ(claim(session, 100).size(), 7u);
    EXPECT_TRUE(claim(session, 100).empty());
}

TEST_P(JobStoreContract, ClaimLooksAtItsQueuesOnly) {
    const store::Session session = open_session();
    std::vector<domain::JobId> ids;
    for (const char* queue : {"a", "b", "c"}) {
        domain::JobSpec made = spec();
        made.queue = queue;
        ids.push_back(enqueue(made));
    }
    EXPECT_TRUE(claim(session, 10, {"default", "never seen"}).empty());
    EXPECT_TRUE(claim(session, 10, {}).empty());
    auto taken = ids_of(claim(session, 10, {"c", "a"}));
    std::ranges::sort(taken);
    EXPECT_EQ(taken, (std::vector{ids[0], ids[2]}));
    EXPECT_EQ(ids_of(claim(session, 10, {"b"})), std::vector{ids[1]});
}

TEST_P(JobStoreContract, ClaimGoesByPriorityAcrossQueues) {
    const store::Session session = open_session();
    domain::JobSpec urgent = spec();
    urgent.queue = "b";
    urgent.priority = 0;
    domain::JobSpec idle = spec();
    idle.queue = "a";
    idle.priority = 9;
    enqueue(idle);
    const domain::JobId id = enqueue(urgent);
    EXPECT_EQ(ids_of(claim(session, 1, {"a", "b"})), std::vector{id});
}

TEST_P(JobStoreContract, PausedQueueGivesNothingUntilResumed) {
    const store::Session session = open_session();
    const domain::JobId running = enqueue(spec());
    const store::Claimed claimed = claim_one(session);
    const domain::JobId waiting = enqueue(spec());
    ASSERT_TRUE(store().pause_queue("default"));
    ASSERT_TRUE(store().pause_queue("default"));
    EXPECT_TRUE(claim(session).empty());
    EXPECT_EQ(succeed(session, claimed.run), domain::Verdict::ok);
    EXPECT_EQ(state(running), JobState::succeeded);
    const domain::JobId late = enqueue(spec());
    EXPECT_TRUE(claim(session).empty());
    ASSERT_TRUE(store().resume_queue("default"));
    auto taken = ids_of(claim(session));
    std::ranges::sort(taken);
    EXPECT_EQ(taken, (std::vector{waiting, late}));
}

TEST_P(JobStoreContract, QueueCanBePausedBeforeItsFirstJob) {
    const store::Session session = open_session();
    ASSERT_TRUE(store().pause_queue("later"));
    domain::JobSpec made = spec();
    made.queue = "later";
    enqueue(made);
    EXPECT_TRUE(claim(session, 1, {"later"}).empty());
    ASSERT_TRUE(store().resume_queue("later"));
    EXPECT_EQ(claim(session, 1, {"later"}).size(), 1u);
}

TEST_P(JobStoreContract, ReturnedWorkGoesFirstWithABoundedShare) {
    const store::Session first = open_session();
    const auto returned = enqueue_many(20, spec());
    for (const store::Claimed& one : claim(first))
        EXPECT_EQ(complete(first, one.run, answer(AnswerKind::release)), domain::Verdict::ok);
    const auto fresh = enqueue_many(20, spec());
    const auto count_returned = [&](const std::vector<store::Claimed>& claimed) {
        return std::ranges::count_if(
            claimed, [&](const auto& one) { return one.run.job <= returned.back(); });
    };
    const auto mixed = claim(first, 8);
    ASSERT_EQ(mixed.size(), 8u);
    EXPECT_EQ(count_returned(mixed), 6);
    EXPECT_EQ(count_returned(claim(first, 1)), 1);
    // The share is a bound only while there is other work.
    EXPECT_EQ(claim(first, 100).size(), 31u);
}

TEST_P(JobStoreContract, ReturnedWorkKeepsItsPriority) {
    const store::Session session = open_session();
    domain::JobSpec idle = spec();
    idle.priority = 9;
    const domain::JobId returned = enqueue(idle);
    complete(session, claim_one(session).run, answer(AnswerKind::release));
    const domain::JobId urgent = enqueue(spec());
    EXPECT_EQ(claim_one(session).run.job, urgent);
    EXPECT_EQ(claim_one(session).run.job, returned);
}

TEST_P(JobStoreContract, FenceOfAJobOnlyGrows) {
    enqueue(spec());
    const store::Session session = open_session();
    domain::Fence last;
    for (int round = 0; round < 5; ++round) {
        const store::Claimed claimed = claim_one(session);
        EXPECT_GT(claimed.run.fence, last);
        last = claimed.run.fence;
        complete(session, claimed.run, answer(AnswerKind::release));
    }
}

TEST_P(JobStoreContract, TransactionalJobsGetALeaseEach) {
    const store::Session session = open_session();
    const std::vector<domain::JobSpec> specs{spec(), transactional_spec(), spec(),
                                             transactional_spec()};
    value(store().enqueue(specs));
    const auto claimed = claim(session);
    ASSERT_EQ(claimed.size(), 4u);
    std::vector<domain::Fence> solo;
    for (const store::Claimed& one : claimed)
        if (one.run.job == claimed[1].run.job || one.run.job == claimed[3].run.job) {
            EXPECT_TRUE(one.solo);
            solo.push_back(one.run.fence);
        }
    EXPECT_NE(solo[0], solo[1]);
    EXPECT_NE(solo[0], claimed[0].run.fence);
}

TEST_P(JobStoreContract, UsedClaimNumberIsRefusedAndReadBack) {
    enqueue_many(4, spec());
    domain::JobSpec made = transactional_spec();
    made.payload = R"({"solo":true})";
    enqueue(made);
    const store::Session session = open_session();
    const store::ClaimRequest request = claim_request(5);
    const auto claimed = value(store().claim(session.key, request));
    ASSERT_EQ(claimed.size(), 5u);
    const auto fresh = enqueue(spec());
    EXPECT_EQ(code_of(store().claim(session.key, request)), ErrorCode::conflict);
    EXPECT_EQ(state(fresh), JobState::pending);

    const auto by_job = [](const store::Claimed& left, const store::Claimed& right) {
        return left.run.job < right.run.job;
    };
    auto read = value(store().claim_result(session.key, request.claim_no));
    std::ranges::sort(read, by_job);
    ASSERT_EQ(read.size(), 5u);
    for (std::size_t i = 0; i < read.size(); ++i) {
        EXPECT_EQ(read[i].run, claimed[i].run);
        EXPECT_EQ(read[i].solo, claimed[i].solo);
        EXPECT_EQ(read[i].payload, claimed[i].payload);
        EXPECT_EQ(read[i].claimed_at, claimed[i].claimed_at);
    }
    succeed(session, claimed[0].run);
    EXPECT_EQ(value(store().claim_result(session.key, request.claim_no)).size(), 4u);
    EXPECT_TRUE(value(store().claim_result(session.key, request.claim_no + 1'000)).empty());
}

TEST_P(JobStoreContract, UsedClaimNumberIsRefusedWhateverIsClaimable) {
    // The first try took shared work, the second would find solo work only (PROTOCOL C1).
    enqueue(spec());
    const store::Session session = open_session();
    const store::ClaimRequest request = claim_request(1);
    ASSERT_EQ(value(store().claim(session.key, request)).size(), 1u);
    const domain::JobId solo = enqueue(transactional_spec());
    EXPECT_EQ(code_of(store().claim(session.key, request)), ErrorCode::conflict);
    EXPECT_EQ(state(solo), JobState::pending);
}

TEST_P(JobStoreContract, SessionsHaveClaimNumbersOfTheirOwn) {
    enqueue_many(2, spec());
    const store::ClaimRequest request = claim_request(1);
    EXPECT_EQ(value(store().claim(open_session().key, request)).size(), 1u);
    EXPECT_EQ(value(store().claim(open_session().key, request)).size(), 1u);
}

TEST_P(JobStoreContract, SuspectIsTakenAloneAndOnlyWhenAskedFor) {
    const domain::JobId suspect = make_suspect("pills");
    domain::JobSpec made = spec();
    made.queue = "pills";
    const domain::JobId harmless = enqueue(made);
    const store::Session session = open_session();
    EXPECT_EQ(ids_of(claim(session, 100, {"pills"})), std::vector{harmless});

    store::ClaimRequest request = claim_request(100, {"pills"});
    request.suspect = true;
    const auto while_holding = store().claim(session.key, request);
    EXPECT_TRUE(!while_holding || while_holding->empty());
    EXPECT_EQ(state(suspect), JobState::pending);

    const store::Session drained = open_session();
    request = claim_request(100, {"pills"});
    request.suspect = true;
    const auto claimed = value(store().claim(drained.key, request));
    ASSERT_EQ(ids_of(claimed), std::vector{suspect});
    EXPECT_TRUE(claimed[0].solo);
    EXPECT_TRUE(domain::is_suspect(claimed[0].blame));
    EXPECT_EQ(succeed(drained, claimed[0].run), domain::Verdict::ok);
    EXPECT_EQ(state(suspect), JobState::succeeded);
}

TEST_P(JobStoreContract, ClaimOfASuspectTakesNothingElse) {
    enqueue(spec());
    EXPECT_TRUE(claim_suspect(open_session()).empty());
    EXPECT_EQ(outstanding(), 1);
    EXPECT_EQ(claim(open_session()).size(), 1u);
}

TEST_P(JobStoreContract, WaitForWorkEndsWhenWorkComes) {
    const store::Session session = open_session();
    const std::vector<std::string> queues{"default"};
    value(store().renew(session.key, {.idle = true}));
    std::atomic<bool> woken = false;
    std::jthread waiter([&] {
        store().wait_for_work(queues, 60s);
        woken = true;
    });
    // A wake-up that comes before the wait has begun may be missed: so more than one.
    const base::SystemClock clock;
    const auto give_up = clock.steady_now() + 5s;
    while (!woken && clock.steady_now() < give_up) {
        enqueue(spec());
        std::this_thread::yield();
    }
    EXPECT_TRUE(woken);
    fixture().advance(60s);
    store().interrupt();
}

TEST_P(JobStoreContract, InterruptEndsEveryWait) {
    const std::vector<std::string> queues{"default"};
    std::atomic<int> woken = 0;
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 3; ++i)
        waiters.emplace_back([&] {
            store().wait_for_work(queues, 60s);
            ++woken;
        });
    const base::SystemClock clock;
    const auto give_up = clock.steady_now() + 5s;
    while (woken < 3 && clock.steady_now() < give_up) {
        store().interrupt();
        std::this_thread::yield();
    }
    EXPECT_EQ(woken, 3);
    fixture().advance(60s);
}

TEST_P(JobStoreContract, WaitForWorkEndsWithItsPatience) {
    const std::vector<std::string> queues{"default"};
    std::atomic<bool> over = false;
    std::jthread waiter([&] {
        store().wait_for_work(queues, 20ms);
        over = true;
    });
    const base::SystemClock clock;
    const auto give_up = clock.steady_now() + 5s;
    while (!over && clock.steady_now() < give_up) {
        fixture().advance(20ms);
        std::this_thread::yield();
    }
    EXPECT_TRUE(over);
}

} // namespace
} // namespace deadman::contract
