// Old ranges of job ids (PROTOCOL H1).
//
// Goal:   a partition of `job` goes when nearly nothing lives in it, and what does loses nothing.
// Method: the ticket is moved past the first ranges; then one sweep, with jobs in every place, with
//         an enqueue that has not committed, with a reader that stays.

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;
using domain::JobState;

class OldJobRanges : public testing::Test {
  protected:
    OldJobRanges()
        : c(database.url()), store(open_store(clock, database.url(), shift)),
          session(open_session(*store)) {}

    domain::JobId add(const std::string& queue, domain::JobSpec spec = {.kind = "work"}) {
        spec.queue = queue;
        spec.payload = "{\"of\":  \"" + queue + "\"}";
        spec.max_attempts = 2;
        return enqueue(*store, 1, spec).front();
    }

    store::RunKey claim(const std::string& queue) {
        const auto claimed =
            value(store->claim(session.key, {.claim_no = ++claims, .queues = {queue}}));
        EXPECT_EQ(claimed.size(), 1u) << queue;
        EXPECT_EQ(claimed.at(0).payload, "{\"of\":  \"" + queue + "\"}");
        return claimed.at(0).run;
    }

    void end(const store::RunKey& run, AnswerKind kind, base::Duration delay = {}) {
        domain::Answer answer;
        answer.kind = kind;
        answer.delay = delay;
        const store::RunEnd end{run, answer};
        EXPECT_EQ(value(store->complete(session.key, {&end, 1})).at(0), domain::Verdict::ok);
    }

    JobState state(domain::JobId id) {
        return value(store->find(id)).value().state;
    }

    /// Two full ranges of ids lie behind from now on.
    void fill_ranges() {
        c.run("select setval('deadman.ticket', 25000000)");
    }

    /// A sweep that looks at the partitions, as every minute.
    void sweep() {
        if (!leader)
            leader = value(store->try_lead());
        shift->wall_us += base::Duration(2min).count();
        shift->steady_us += base::Duration(2min).count();
        value(leader->sweep({}));
    }

    bool stands(const std::string& partition) {
        return c.number("select count(*) from pg_class where relname = '" + partition + "'") == 1;
    }

    base::SystemClock clock;
    PostgresDatabase database;
    PostgresWire c;
    std::shared_ptr<store::ClockShift> shift = std::make_shared<store::ClockShift>();
    std::unique_ptr<store::JobStore> store;
    std::unique_ptr<store::Leadership> leader;
    store::Session session;
    std::int64_t claims = 0;
};

TEST_F(OldJobRanges, GoAndTheJobsInThemLoseNothing) {
    std::map<std::string, domain::JobId> jobs;
    for (const char* queue : {"new", "returned", "retry", "running", "failed", "succeeded"})
        jobs[queue] = add(queue);
    jobs["due"] = add("due", {.kind = "work", .delay = 24h * 365});
    jobs["solo"] = add("solo", {.kind = "work", .transactional = true});
    end(claim("returned"), AnswerKind::release);
    end(claim("retry"), AnswerKind::error, 24h);
    const store::RunKey running = claim("running");
    const store::RunKey solo = claim("solo");
    end(claim("failed"), AnswerKind::failed);
    end(claim("succeeded"), AnswerKind::succeeded);
    const domain::JobId removed = add("removed");
    EXPECT_EQ(value(store->cancel(removed)), store::CancelAnswer::cancelled);
    value(store->remove(removed));

    fill_ranges();
    sweep();
    EXPECT_FALSE(stands("job_0"));
    EXPECT_FALSE(stands("job_1"));
    EXPECT_TRUE(stands("job_2"));
    EXPECT_EQ(c.number("select count(*) from deadman.job_kept"), 8);

    for (const auto& [queue, id] : jobs) {
        const auto job = value(store->find(id));
        ASSERT_TRUE(job) << queue;
        EXPECT_EQ(job->payload, "{\"of\":  \"" + queue + "\"}");
    }
    const domain::JobId young = add("young");
    const auto listed = value(store->list({})).jobs;
    ASSERT_EQ(listed.size(), 9u);
    EXPECT_EQ(listed.front().id, young);
    EXPECT_EQ(value(store->list({.states = {JobState::failed}, .queue = "failed"})).jobs.size(),
              1u);

    end(running, AnswerKind::error);
    EXPECT_EQ(state(jobs["running"]), JobState::scheduled) << "one of its two attempts is left";
    value(store->transact(session.key, solo, {},
                          [](store::EffectTransaction&) -> base::Status { return {}; }));
    value(store->retry(jobs["failed"]));
    for (const char* queue : {"new", "returned", "failed"})
        end(claim(queue), AnswerKind::succeeded);
    EXPECT_EQ(value(store->cancel(jobs["due"])), store::CancelAnswer::cancelled);
    value(store->remove(jobs["due"]));
    EXPECT_EQ(c.number("select count(*) from deadman.job_kept"), 7);
    EXPECT_EQ(value(store->count_outstanding()), 3) << "retry, running and young";
}

TEST_F(OldJobRanges, WaitForAnEnqueueThatHasNotCommitted) {
    PostgresWire app(database.url());
    app.run("begin");
    const std::int64_t late = app.number("select deadman.enqueue('work', queue => 'late')");
    fill_ranges();
    sweep();
    EXPECT_TRUE(stands("job_0")) << "a job of it may still appear";
    EXPECT_TRUE(stands("job_1"));
    app.run("commit");
    sweep();
    sweep(); // the mark first, then the range
    EXPECT_FALSE(stands("job_0"));
    const auto claimed =
        value(store->claim(session.key, {.claim_no = ++claims, .queues = {"late"}}));
    ASSERT_EQ(claimed.size(), 1u);
    EXPECT_EQ(claimed[0].run.job.value, late);
}

TEST_F(OldJobRanges, ThatAReaderHoldsStopNobodyAndGoLater) {
    const domain::JobId id = add("new");
    PostgresWire reader(database.url());
    reader.run("begin");
    reader.run("select count(*) from deadman.job");
    fill_ranges();
    sweep();
    EXPECT_TRUE(stands("job_0"));
    EXPECT_EQ(c.one("select step from deadman.partitions_leaving() where name = 'job_0'"),
              "detaching");
    EXPECT_EQ(state(id), JobState::pending) << "by its copy";
    EXPECT_EQ(state(add("other")), JobState::pending);
    reader.run("commit");
    sweep();
    EXPECT_FALSE(stands("job_0"));
    EXPECT_FALSE(stands("job_1")) << "an interrupted detachment holds up no other";
    EXPECT_EQ(c.number("select count(*) from deadman.leaving"), 0);
    end(claim("new"), AnswerKind::succeeded);
}

TEST_F(OldJobRanges, WithManyJobsAtWorkStay) {
    enqueue(*store, 10'001, {.kind = "work"});
    fill_ranges();
    sweep();
    EXPECT_TRUE(stands("job_0"));
    EXPECT_FALSE(stands("job_1"));
    EXPECT_EQ(c.number("select count(*) from deadman.job_kept"), 0);
}

TEST_F(OldJobRanges, KeptJobsGoWithTheirEnds) {
    const domain::JobId finished = add("finished");
    const domain::JobId waits = add("waits");
    end(claim("finished"), AnswerKind::succeeded);
    fill_ranges();
    sweep();
    ASSERT_EQ(c.number("select count(*) from deadman.job_kept"), 2);
    c.run("delete from deadman.done"); // as when a whole day is dropped
    sweep();
    sweep(); // the look through the kept ones begins anew
    EXPECT_EQ(c.one("select array_agg(id) from deadman.job_kept"),
              "{" + std::to_string(waits.value) + "}");
    EXPECT_FALSE(value(store->find(finished)));
}

TEST_F(OldJobRanges, PartitionsThatOthersDetachedAreLeftAlone) {
    fill_ranges();
    c.run("alter table deadman.job detach partition deadman.job_0");
    sweep();
    EXPECT_TRUE(stands("job_0"));
    c.run("drop table deadman.job_0");
}

} // namespace
} // namespace deadman::test
