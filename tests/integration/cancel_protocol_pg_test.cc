// Cancel and unique keys under directed interleavings (PROTOCOL E6, E7).
//
// Goal and method: as claim_protocol_pg_test.cc.

#include "tests/support/claim_protocol.h"

namespace deadman::test {
namespace {

using CancelProtocol = ClaimProtocol;
using UniqueKeyProtocol = ClaimProtocol;

using Texts = std::vector<std::string>;

constexpr const char* repeatable_read = "begin isolation level repeatable read";

TEST_F(CancelProtocol, OfAJobThatIsBeingClaimedReachesItsRun) {
    const auto job = enqueue(c, 1).at(0);
    const auto s = session();
    auto a = connect();
    a->run("begin");
    const auto held = claim(*a, s, 1);
    auto b = connect();
    b->send("select deadman.cancel(" + std::to_string(job) + ")");
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->finish().at(0).at(0), "requested");
    EXPECT_EQ(complete(c, s, held), Texts{"cancelled"});
    EXPECT_EQ(state(job), "cancelled");
}

TEST_F(CancelProtocol, IsBoundedBehindAGuard) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    const std::string cancel = "select deadman.cancel(" + std::to_string(job) + ")";
    auto a = connect();
    a->run("begin");
    a->run(app_sql("guard", run, s));
    EXPECT_EQ(c.one(cancel), "unknown");
    a->run(app_sql("complete", run, s));
    a->run("commit");
    EXPECT_EQ(c.one(cancel), "already_finished");
}

TEST_F(CancelProtocol, BehindAGuardAsksTheWorkerToStopTheRun) {
    const auto job = enqueue(c, 1, true).at(0);
    const auto s = session();
    const auto run = claim(c, s, 1).at(0);
    const auto stops = [&] {
        return c.one("select cancel_requested from deadman.renew(" + s.id + ", '" + s.key + "')");
    };
    auto a = connect();
    a->run("begin");
    a->run(app_sql("guard", run, s));
    EXPECT_EQ(stops(), "{}");
    for (int tries = 0; tries < 2; ++tries)
        EXPECT_EQ(c.one("select deadman.cancel(" + std::to_string(job) + ")"), "unknown");
    for (int renewals = 0; renewals < 2; ++renewals)
        EXPECT_EQ(stops(), "{" + std::to_string(job) + "}") << "a lost answer loses nothing";
    a->run("rollback"); // as the worker does then, before it ends the run as cancelled
    EXPECT_EQ(complete(c, s, {run}, cancelled), Texts{"ok"});
    EXPECT_EQ(state(job), "cancelled");
    enqueue(c, 1, true);
    claim(c, s, 2);
    EXPECT_EQ(stops(), "{}") << "it was for that run";
}

TEST_F(CancelProtocol, SurvivesALapse) {
    const auto job = enqueue(c, 1).at(0);
    const auto s = session();
    claim(c, s, 1);
    EXPECT_EQ(c.one("select deadman.cancel(" + std::to_string(job) + ")"), "requested");
    expire(s);
    reap();
    EXPECT_EQ(state(job), "cancelled");
}

TEST_F(CancelProtocol, WinsOverARetry) {
    const auto job = enqueue(c, 1).at(0);
    const auto s = session();
    const auto held = claim(c, s, 1);
    c.run("select deadman.cancel(" + std::to_string(job) + ")");
    EXPECT_EQ(complete(c, s, held, error), Texts{"cancelled"});
    EXPECT_EQ(state(job), "cancelled");
}

TEST_F(UniqueKeyProtocol, KeyIsFreeAfterTheEndOnly) {
    const std::string with_key = "select deadman.enqueue('work', unique_key => 'k')";
    const std::string first = c.one(with_key);
    EXPECT_EQ(c.one(with_key), first);
    const auto s = session();
    auto a = connect();
    auto b = connect();
    const auto held = claim(c, s, 1);
    a->run("begin");
    complete(*a, s, held);
    b->send(with_key);
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_NE(b->finish().at(0).at(0), first);
}

TEST_F(UniqueKeyProtocol, KeyTwiceInOneCallMakesOneJob) {
    const auto rows =
        c.run("select id, is_new from deadman.enqueue_batch('{a,a,a}', '{1,2,3}', "
              "'{default,default,default}', '{5,5,5}', null, null, "
              "'{20,20,20}', null, '{0,0,0}', '{f,f,f}', '{k,k,NULL}', null, null, '1 day')");
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[0][1] + rows[1][1] + rows[2][1], "tft");
    EXPECT_EQ(rows[0][0], rows[1][0]);
    EXPECT_EQ(ready(), 2);
}

TEST_F(UniqueKeyProtocol, KeyOfAJobThatEndedBeforeASnapshotIsTakenOnce) {
    const std::string with_key = "select deadman.enqueue('work', unique_key => 'k')";
    const std::string first = c.one(with_key);
    const auto s = session();
    const auto held = claim(c, s, 1);
    auto a = connect();
    a->run(repeatable_read);
    a->run("select 1 from deadman.unique_key");
    complete(c, s, held);
    const std::string second = a->one(with_key);
    EXPECT_NE(second, first) << "the predecessor, still to be seen in the snapshot, has ended";
    a->run("commit");
    EXPECT_EQ(c.one("select job from deadman.unique_key"), second);
}

} // namespace
} // namespace deadman::test
