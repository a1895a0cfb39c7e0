// Sessions, claims and cursors under directed interleavings (PROTOCOL S1 to S3, C1 to C5).
//
// Goal:   each rule holds in the one order of steps that broke a draft without it.
// Method: bare connections; a statement is sent and left waiting, and the server says whether it
// waits.

#include "tests/support/claim_protocol.h"

namespace deadman::test {
namespace {

using SessionProtocol = ClaimProtocol;
using CursorProtocol = ClaimProtocol;
using SuspectProtocol = ClaimProtocol;

using Texts = std::vector<std::string>;

TEST_F(SessionProtocol, RenewalInFlightKeepsTheReaperAway) {
    const auto s = session();
    enqueue(c, 1);
    const auto run = claim(c, s, 1).at(0);
    expire(s);
    auto a = connect();
    a->run("begin");
    a->run("select * from deadman.renew(" + s.id + ", '" + s.key + "')");
    EXPECT_EQ(reap(), "");
    a->run("commit");
    EXPECT_EQ(reap(), "");
    EXPECT_EQ(state(run.job), "running");
}

TEST_F(SessionProtocol, ClaimThatWaitedForTheReaperTakesNothing) {
    const auto s = session();
    enqueue(c, 3);
    expire(s);
    c.run("select deadman.observe_tick(3000000, 8000000)");
    c.run("update deadman.tick set grace_from = '-infinity', grace_until = '-infinity'");
    auto a = connect();
    a->run("begin");
    ASSERT_EQ(a->one("select array_to_string(deadman.reap_sessions(3000000, 1000000), ' ')"), s.id);
    auto b = connect();
    b->send(claim_sql(s, 1));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->sqlstate_of_finish(), "DM001");
    EXPECT_EQ(ready(), 3);
}

TEST_F(SessionProtocol, ReaperSkipsASessionWithAClaimInFlight) {
    const auto s = session();
    enqueue(c, 3);
    auto a = connect();
    a->run("begin");
    ASSERT_EQ(claim(*a, s, 1).size(), 3u);
    expire(s);
    EXPECT_EQ(reap(), "");
    a->run("commit");
    EXPECT_EQ(reap(), s.id);
    EXPECT_EQ(ready(), 3);
}

TEST_F(SessionProtocol, EndOfASessionWaitsForItsClaimInFlight) {
    const auto s = session();
    enqueue(c, 3);
    auto a = connect();
    a->run("begin");
    ASSERT_EQ(claim(*a, s, 1).size(), 3u);
    auto b = connect();
    b->send("select deadman.end_session(" + s.id + ", '" + s.key + "', 'drained')");
    ASSERT_TRUE(b->blocks());
    return_leases(c);
    c.run("select deadman.close_sessions()");
    a->run("commit");
    EXPECT_EQ(b->finish().at(0).at(0), "t");
    EXPECT_EQ(return_leases(c), 3);
    EXPECT_EQ(ready(), 3);
    EXPECT_EQ(c.number("select count(*) from deadman.lease"), 0);
}

TEST_F(SessionProtocol, StalledReaperReapsNobody) {
    const auto s = session("1 s");
    enqueue(c, 1);
    claim(c, s, 1);
    expire(s);
    c.run(
        "update deadman.tick set at = deadman.now() - interval '10 s', grace_until = '-infinity'");
    const std::string reap_now =
        "select array_to_string(deadman.reap_sessions(3000000, 1000000), ' ')";
    EXPECT_EQ(c.one(reap_now), "") << "with a stale tick";
    EXPECT_EQ(c.one("select grace from deadman.observe_tick(3000000, 8000000)"), "t");
    EXPECT_EQ(c.one(reap_now), "") << "in grace";
}

TEST_F(SessionProtocol, ClockStepGivesGrace) {
    const std::string at = c.one("select at_us from deadman.observe_tick(3000000, 8000000)");
    c.run("update deadman.tick set grace_until = '-infinity'");
    session();
    const auto grace = [&](const std::string& steady_us) {
        return c.one("select grace from deadman.observe_tick(3000000, 8000000, " + at + ", " +
                     steady_us + ")");
    };
    EXPECT_EQ(grace("0"), "f");
    EXPECT_EQ(grace("30000000"), "t") << "the wall clock stood while the steady one went on";
}

TEST_F(SessionProtocol, LapseAfterAnOutageBlamesNobody) {
    const auto s = session("1 s");
    enqueue(c, 1);
    claim(c, s, 1);
    expire(s);
    c.run("update deadman.tick set at = deadman.now() - interval '1 hour'");
    c.run("select deadman.observe_tick(3000000, 8000000)");
    c.run("update deadman.tick set grace_until = '-infinity'");
    EXPECT_EQ(c.one("select array_to_string(deadman.reap_sessions(3000000, 1000000), ' ')"), s.id);
    return_leases(c);
    EXPECT_EQ(c.one("select lapses || ' ' || crashes from deadman.ready"), "0 0");
}

TEST_F(SessionProtocol, HintReapsEarlyOnlyWhereTheLockWasSeen) {
    const auto s = session("60 s", true);
    enqueue(c, 1);
    const auto run = claim(c, s, 1).at(0);
    const auto two_seconds_back = [&] {
        c.run("update deadman.session set renewed_at = now() - interval '2 s'");
    };
    two_seconds_back();
    EXPECT_EQ(reap(), "") << "the lock was never seen";
    auto a = connect();
    a->run("select pg_advisory_lock(5917, deadman.session_lock(" + s.id + "))");
    a->run("select * from deadman.renew(" + s.id + ", '" + s.key + "')");
    two_seconds_back();
    EXPECT_EQ(reap(), "") << "the lock is held";
    const std::string gone =
        "select count(*) from pg_stat_activity where pid = " + std::to_string(a->pid());
    a.reset();
    ASSERT_TRUE(eventually([&] { return c.one(gone) == "0"; }));
    c.run("update deadman.session set renewed_at = now()");
    EXPECT_EQ(reap(), "") << "it has only just renewed";
    two_seconds_back();
    c.run("update deadman.session set lock_epoch = lock_epoch - interval '1 s'");
    EXPECT_EQ(reap(), "") << "another server process saw the lock: this one has forgotten it";
    c.run("update deadman.session set lock_epoch = lock_epoch + interval '1 s'");
    EXPECT_EQ(reap(), s.id);
    EXPECT_EQ(state(run.job), "pending");
}

TEST_F(ClaimProtocol, SecondTryOfANumberCollidesWhateverEachTryTook) {
    const auto s = session();
    enqueue(c, 5);
    enqueue(c, 5, true);
    auto a = connect();
    auto b = connect();
    a->run("begin");
    ASSERT_EQ(claim(*a, s, 1, 5).size(), 5u);
    b->send(claim_sql(s, 1, 5));
    ASSERT_TRUE(b->blocks());
    a->run("commit");
    EXPECT_EQ(b->sqlstate_of_finish(), "23505");
    EXPECT_EQ(c.run("select * from deadman.claim_result(" + s.id + ", '" + s.key + "', 1)").size(),
              5u);
    EXPECT_EQ(ready(), 5);
}

TEST_F(ClaimProtocol, ClaimOfAClientThatDiedIsSeenByTheNextRenewal) {
    const auto s = session();
    enqueue(c, 5);
    auto a = connect();
    a->send(claim_sql(s, 7));
    ASSERT_TRUE(eventually([&] { return c.number("select count(*) from deadman.lease") == 1; }));
    a->cut();
    const auto leases =
        c.run("select fence, claim_no from deadman.renew(" + s.id + ", '" + s.key + "')");
    ASSERT_EQ(leases.size(), 1u);
    EXPECT_EQ(leases[0][1], "7");
    std::vector<WireClaim> orphans;
    for (const auto& row : c.run("select unnest(ids) from deadman.lease"))
        orphans.push_back({std::stoll(row[0]), std::stoll(leases[0][0])});
    EXPECT_EQ(complete(c, s, orphans, release), Texts(5, "ok"));
    EXPECT_EQ(c.number("select count(*) from deadman.ready where lane = 0"), 5);
}

/// A client that is stopped with an unread answer: does its session become reapable?
class StoppedClient : public ClaimProtocol {
  protected:
    bool is_reaped(const std::string& settings, int tries) {
        const auto s = session("1 s");
        c.run("select deadman.enqueue('work', to_json(repeat('x', 1000000))) from "
              "generate_series(1, 30)");
        auto a = connect(settings);
        std::string everything = claim_sql(s, 1, 30);
        everything.replace(0, everything.find(" from"), "select *");
        a->send(everything); // 30 MB that nobody reads: the server waits for room in the socket
        const std::string writing =
            "select count(*) from pg_stat_activity where wait_event = 'ClientWrite' and pid = " +
            std::to_string(a->pid());
        EXPECT_TRUE(eventually([&] { return c.one(writing) == "1"; }));
        expire(s);
        for (int i = 0; i < tries; ++i) {
            if (reap() == s.id)
                return true;
            c.run("select pg_sleep(0.2)");
        }
        return false;
    }
};

TEST_F(StoppedClient, WithAFullSocketLosesItsSession) {
    EXPECT_TRUE(
        is_reaped("set tcp_user_timeout = 1000; set client_connection_check_interval = 500", 40));
}

TEST_F(StoppedClient, WithoutTheTimeoutsWouldKeepItsSession) {
    EXPECT_FALSE(is_reaped("", 12));
}

TEST_F(CursorProtocol, LateRowBehindCursorIsSweptAndTheMarkWaitsForIt) {
    const auto s = session();
    auto a = connect();
    a->run("begin");
    const std::int64_t late = enqueue(*a, 1).at(0);
    enqueue(c, 20);
    const auto claimed = claim(c, s, 1, 20);
    ASSERT_EQ(claimed.size(), 20u);
    const std::int64_t top = claimed.back().ticket;
    c.run("select deadman.publish_cursors(" + s.id + ", '{1,1}', '{5,5}', '{0,1}', '{0," +
          std::to_string(top) + "}')");
    for (int i = 0; i < 3; ++i)
        c.run("select deadman.sweep_behind()");
    const std::string mark_now = "select coalesce(max(ticket), 0) from deadman.mark where lane = 1";
    EXPECT_LT(c.number(mark_now), late) << "the mark passed an open transaction";
    a->run("commit");
    EXPECT_TRUE(claim(c, s, 2, 20, {0, top}).empty()) << "behind the cursor";
    EXPECT_EQ(c.number("select deadman.sweep_behind()"), 1);
    const auto found = claim(c, s, 3, 20, {0, top});
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].job, late);
    EXPECT_EQ(found[0].lane, 0);
    EXPECT_TRUE(eventually([&] {
        c.run("select deadman.sweep_behind()");
        return c.number(mark_now) == top;
    })) << "the mark advances when all is closed";
}

TEST_F(CursorProtocol, RowsOfAClaimThatRolledBackAreSwept) {
    const auto s = session();
    enqueue(c, 10);
    auto a = connect();
    a->run("begin");
    ASSERT_EQ(claim(*a, s, 1, 5).size(), 5u);
    const auto claimed = claim(c, s, 2, 5);
    ASSERT_EQ(claimed.size(), 5u);
    c.run("select deadman.publish_cursors(" + s.id + ", '{1,1}', '{5,5}', '{0,1}', '{0," +
          std::to_string(claimed.back().ticket) + "}')");
    for (int i = 0; i < 3; ++i)
        c.run("select deadman.sweep_behind()");
    a->run("rollback");
    EXPECT_EQ(c.number("select deadman.sweep_behind()"), 5);
}

TEST_F(CursorProtocol, NewSessionStartsAtTheMark) {
    const auto s = session();
    const auto jobs = enqueue(c, 4);
    c.run("insert into deadman.mark values (1, 5, 0, 0), (1, 5, 1, " + std::to_string(jobs[1]) +
          ")");
    const auto rows = c.run("select id from deadman.claim(" + s.id + ", '" + s.key +
                            "', 1, 10, '{default}', null, null, null, null, null, null)");
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0][0], std::to_string(jobs[2]));
}

TEST_F(SuspectProtocol, PillIsQuarantinedThoughNoRenewalNamedIt) {
    const auto jobs = enqueue(c, 3);
    const std::int64_t pill = jobs[1];
    for (int life = 0; life < 30; ++life) {
        const auto s = session();
        auto held = claim(c, s, 1, 3);
        if (held.empty())
            held = claim_suspect(c, s, 2);
        if (held.empty())
            break;
        if (held.size() == 1 && held[0].job != pill) {
            complete(c, s, held); // alone and innocent
            continue;
        }
        expire(s);
        reap();
    }
    EXPECT_EQ(states(jobs), (Texts{"succeeded", "failed", "succeeded"}));
}

TEST_F(SuspectProtocol, PartialReturnMakesNobodyAlone) {
    enqueue(c, 2, true);
    const auto s = session();
    const auto held = claim(c, s, 1, 2);
    auto a = connect();
    a->run("begin");
    a->run(app_sql("guard", held[0], s));
    expire(s);
    reap();
    a->run("rollback");
    return_leases(c);
    EXPECT_EQ(c.one("select count(*) || ' ' || max(crashes) from deadman.ready"), "2 0");
}

} // namespace
} // namespace deadman::test
