// Questions: list with filters and cursors, queues, what an unknown id answers.

#include <algorithm>
#include <set>

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::AnswerKind;
using domain::JobState;

std::vector<domain::JobId> listed(store::JobStore& store, const store::JobFilter& filter) {
    std::vector<domain::JobId> ids;
    for (const store::JobRecord& job : value(store.list(filter)).jobs)
        ids.push_back(job.id);
    return ids;
}

std::vector<domain::JobId> walk(
    store::JobStore& store, store::JobFilter filter, const std::function<void()>& between = [] {}) {
    std::vector<domain::JobId> ids;
    while (true) {
        const store::JobPage page = value(store.list(filter));
        EXPECT_LE(page.jobs.size(), static_cast<std::size_t>(filter.limit));
        for (const store::JobRecord& job : page.jobs)
            ids.push_back(job.id);
        if (!page.next)
            return ids;
        filter.after = page.next;
        between();
    }
}

TEST_P(JobStoreContract, UnknownIdAnswersNothing) {
    EXPECT_FALSE(value(store().find({1'234'567})));
    EXPECT_TRUE(runs({1'234'567}).empty());
    EXPECT_FALSE(value(store().find({0})));
    EXPECT_FALSE(value(store().find({-1})));
}

TEST_P(JobStoreContract, ListIsNewestFirst) {
    auto ids = enqueue_many(5, spec());
    std::ranges::reverse(ids);
    EXPECT_EQ(listed(store(), {}), ids);
    const store::JobPage page = value(store().list({}));
    EXPECT_FALSE(page.next);
    EXPECT_EQ(page.jobs.at(0).payload, "{}");
}

TEST_P(JobStoreContract, ListFiltersByStateKindAndQueue) {
    domain::JobSpec other = spec("other");
    other.queue = "side";
    const domain::JobId a = enqueue(spec());
    const domain::JobId b = enqueue(other);
    domain::JobSpec later = spec();
    later.delay = 1h;
    const domain::JobId c = enqueue(later);
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    ASSERT_EQ(claimed.run.job, a);

    EXPECT_EQ(listed(store(), {.states = {JobState::running}}), std::vector{a});
    EXPECT_EQ(listed(store(), {.states = {JobState::pending}}), std::vector{b});
    EXPECT_EQ(listed(store(), {.states = {JobState::scheduled}}), std::vector{c});
    EXPECT_EQ(listed(store(), {.states = {JobState::pending, JobState::running}}),
              (std::vector{b, a}));
    EXPECT_EQ(listed(store(), {.kind = "other"}), std::vector{b});
    EXPECT_EQ(listed(store(), {.queue = "side"}), std::vector{b});
    EXPECT_TRUE(listed(store(), {.kind = "other", .queue = "default"}).empty());
    EXPECT_TRUE(listed(store(), {.states = {JobState::failed}}).empty());
    EXPECT_TRUE(listed(store(), {.kind = "never"}).empty());
    succeed(session, claimed.run);
    EXPECT_EQ(listed(store(), {.states = {JobState::succeeded, JobState::pending}}),
              (std::vector{b, a}));
}

TEST_P(JobStoreContract, FinishedJobsAreListedByTheTimeTheyEnded) {
    const auto ids = enqueue_many(4, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session, 3);
    std::vector<base::TimePoint> ended;
    for (const std::size_t index : {1, 2, 0}) {
        fixture().advance(1s);
        complete(session, claimed[index].run,
                 answer(index == 2 ? AnswerKind::failed : AnswerKind::succeeded));
        ended.push_back(record(ids[index]).finished_at.value());
    }
    const std::vector<JobState> finished{JobState::succeeded, JobState::failed, JobState::cancelled,
                                         JobState::expired};
    EXPECT_EQ(listed(store(), {.states = finished}), (std::vector{ids[0], ids[2], ids[1]}));
    EXPECT_EQ(listed(store(), {.states = {JobState::succeeded}}), (std::vector{ids[0], ids[1]}));
    EXPECT_EQ(walk(store(), {.states = finished, .limit = 1}),
              (std::vector{ids[0], ids[2], ids[1]}));

    // From inclusive, until exclusive.
    EXPECT_EQ(listed(store(), {.finished_from = ended[1]}), (std::vector{ids[0], ids[2]}));
    EXPECT_EQ(listed(store(), {.finished_until = ended[1]}), std::vector{ids[1]});
    EXPECT_EQ(listed(store(), {.finished_from = ended[0], .finished_until = ended[2]}),
              (std::vector{ids[2], ids[1]}));
    EXPECT_EQ(listed(store(), {.states = {JobState::failed}, .finished_from = ended[0]}),
              std::vector{ids[2]});
}

TEST_P(JobStoreContract, ListFiltersByTheTimeOfEnqueue) {
    const domain::JobId first = enqueue(spec());
    fixture().advance(1s);
    const domain::JobId second = enqueue(spec());
    const base::TimePoint created = record(second).created_at;
    EXPECT_EQ(listed(store(), {.created_from = created}), std::vector{second});
    EXPECT_EQ(listed(store(), {.created_until = created}), std::vector{first});
}

TEST_P(JobStoreContract, RetriedJobIsNotListedAsFinished) {
    const domain::JobId id = enqueue(spec());
    value(store().cancel(id));
    ASSERT_EQ(listed(store(), {.states = {JobState::cancelled}}), std::vector{id});
    ASSERT_TRUE(store().retry(id));
    EXPECT_TRUE(listed(store(), {.states = {JobState::cancelled}}).empty());
    EXPECT_EQ(listed(store(), {}), std::vector{id});
}

TEST_P(JobStoreContract, ListBoundsItsLimit) {
    EXPECT_EQ(code_of(store().list({.limit = 0})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store().list({.limit = -1})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store().list({.limit = 1'001})), ErrorCode::invalid_argument);
    EXPECT_TRUE(store().list({.limit = 1'000}));
}

TEST_P(JobStoreContract, WalkSeesEachJobOnceWhileOthersAreEnqueued) {
    auto ids = enqueue_many(50, spec());
    std::ranges::reverse(ids);
    EXPECT_EQ(walk(store(), {.limit = 7}, [&] { enqueue_many(3, spec()); }), ids);
}

TEST_P(JobStoreContract, WalkOverFinishedJobsSeesEachOnceWhileOthersEnd) {
    const auto ids = enqueue_many(30, spec());
    const store::Session session = open_session();
    std::vector<store::RunEnd> ends;
    for (const store::Claimed& one : claim(session))
        ends.push_back({one.run, {}});
    value(store().complete(session.key, ends)); // all at one time: ids decide
    const auto seen = walk(store(), {.states = {JobState::succeeded}, .limit = 7}, [&] {
        fixture().advance(1ms);
        enqueue(spec());
        succeed(session, claim_one(session).run);
    });
    EXPECT_EQ(std::set(seen.begin(), seen.end()), std::set(ids.begin(), ids.end()));
    EXPECT_EQ(seen.size(), ids.size());
}

TEST_P(JobStoreContract, WalkWithAFilterReachesTheEnd) {
    std::vector<domain::JobId> expected;
    for (int i = 0; i < 40; ++i) {
        const domain::JobId id = enqueue(spec(i % 10 == 0 ? "rare" : "common"));
        if (i % 10 == 0)
            expected.insert(expected.begin(), id);
    }
    EXPECT_EQ(walk(store(), {.kind = "rare", .limit = 2}), expected);
}

TEST_P(JobStoreContract, QueuesAreCounted) {
    enqueue_many(3, spec());
    domain::JobSpec later = spec();
    later.delay = 1h;
    enqueue(later);
    domain::JobSpec side = spec();
    side.queue = "side";
    enqueue(side);
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    ASSERT_TRUE(store().pause_queue("side"));

    const auto find = [&](std::string_view name) {
        for (const store::QueueRecord& queue : value(store().queues()))
            if (queue.name == name)
                return queue;
        return store::QueueRecord{};
    };
    EXPECT_EQ(find("default").pending, 2);
    EXPECT_EQ(find("default").scheduled, 1);
    EXPECT_EQ(find("default").running, 1);
    EXPECT_FALSE(find("default").paused);
    EXPECT_TRUE(find("default").oldest_pending);
    EXPECT_EQ(find("side").pending, 1);
    EXPECT_TRUE(find("side").paused);
    succeed(session, claimed.run);
    EXPECT_EQ(find("default").running, 0);
    ASSERT_TRUE(store().resume_queue("side"));
    EXPECT_FALSE(find("side").paused);
}

TEST_P(JobStoreContract, OldestPendingIsTheLongestWait) {
    const domain::JobId first = enqueue(spec());
    fixture().advance(5s);
    enqueue(spec());
    EXPECT_EQ(value(store().queues()).at(0).oldest_pending, record(first).due);
}

TEST_P(JobStoreContract, ClockOfTheStoreMoves) {
    const base::TimePoint before = value(store().now());
    fixture().advance(1h);
    const base::Duration moved = value(store().now()) - before;
    EXPECT_GE(moved, 1h);
    EXPECT_LT(moved, 1h + 1min);
}

} // namespace
} // namespace deadman::contract
