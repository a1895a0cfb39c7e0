// Sessions: renewal, the end of a session, who owns what.

#include <algorithm>

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::JobState;

std::optional<store::SessionRecord> session_record(store::JobStore& store, domain::SessionId id) {
    for (const store::SessionRecord& record : value(store.sessions()))
        if (record.id == id)
            return record;
    return std::nullopt;
}

TEST_P(JobStoreContract, SessionIsToldHowToRenewAndWhenToStop) {
    const store::Session session = open_session();
    EXPECT_FALSE(session.key.key.empty());
    EXPECT_GT(session.renew_every, 0us);
    EXPECT_LE(session.renew_every, terms.heartbeat);
    EXPECT_LT(session.renew_every, session.cancel_after);
    EXPECT_LE(session.cancel_after, domain::cancel_after(terms));
    EXPECT_LE(session.cancel_after, session.leave_after);
    EXPECT_LE(session.leave_after, domain::leave_after(terms));
}

TEST_P(JobStoreContract, SessionsOfOneNameAreStrangers) {
    const store::Session first = open_session("w-0");
    const store::Session second = open_session("w-0");
    EXPECT_NE(first.key.id, second.key.id);
    EXPECT_NE(first.key.key, second.key.key);
    const domain::JobId id = enqueue(spec());
    const store::Claimed claimed = claim_one(first);
    EXPECT_EQ(succeed(second, claimed.run), domain::Verdict::fenced);
    EXPECT_TRUE(renew(second).leases.empty());
    EXPECT_EQ(state(id), JobState::running);
}

TEST_P(JobStoreContract, NewSessionOfADeadWorkersNameDoesNotKeepItsRunsAlive) {
    const auto ids = enqueue_many(10, spec());
    const store::Session dead = open_session("w-0");
    ASSERT_EQ(claim(dead).size(), 10u);
    const store::Session restarted = open_session("w-0");
    EXPECT_EQ(pass(terms.lease + 2 * terms.sweep, {restarted}).runs_returned, 10);
    EXPECT_EQ(ids_of(claim(restarted)), ids);
}

TEST_P(JobStoreContract, WrongSessionKeyProvesNothing) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    store::Session forged = session;
    forged.key.key = open_session().key.key;
    EXPECT_EQ(code_of(store().renew(forged.key, {})), ErrorCode::fenced);
    EXPECT_EQ(code_of(store().claim(forged.key, claim_request(1))), ErrorCode::fenced);
    const store::Claimed claimed = claim_one(session);
    EXPECT_EQ(succeed(forged, claimed.run), domain::Verdict::fenced);
    EXPECT_EQ(code_of(store().transact(forged.key, claimed.run, {},
                                       [](auto&) { return base::Status{}; })),
              ErrorCode::fenced);
    EXPECT_TRUE(store().end_session(forged.key, "forged"));
    sweep();
    EXPECT_EQ(state(id), JobState::running);
    EXPECT_EQ(succeed(session, claimed.run), domain::Verdict::ok);
}

TEST_P(JobStoreContract, UnknownSessionIsFenced) {
    const store::Session session = open_session();
    const store::SessionKey unknown{{session.key.id.value + 1'000}, session.key.key};
    EXPECT_EQ(code_of(store().renew(unknown, {})), ErrorCode::fenced);
    EXPECT_EQ(code_of(store().claim(unknown, claim_request(1))), ErrorCode::fenced);
    EXPECT_TRUE(store().end_session(unknown, "never was"));
}

TEST_P(JobStoreContract, RenewalReportsLeasesAndCancels) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session();
    store::ClaimRequest request = claim_request(3);
    const auto claimed = value(store().claim(session.key, request));
    ASSERT_EQ(claimed.size(), 3u);
    EXPECT_EQ(value(store().cancel(ids[1])), store::CancelAnswer::requested);
    EXPECT_EQ(succeed(session, claimed[0].run), domain::Verdict::ok);

    const store::Renewal renewal = renew(session);
    std::vector<domain::JobId> unended;
    std::vector<domain::JobId> cancels;
    for (const store::HeldLease& lease : renewal.leases) {
        EXPECT_EQ(lease.claim_no, request.claim_no);
        EXPECT_EQ(lease.fence, claimed[1].run.fence);
        unended.insert(unended.end(), lease.unended.begin(), lease.unended.end());
        cancels.insert(cancels.end(), lease.cancel_requested.begin(), lease.cancel_requested.end());
    }
    std::ranges::sort(unended);
    EXPECT_EQ(unended, (std::vector{ids[1], ids[2]}));
    EXPECT_EQ(cancels, std::vector{ids[1]});

    succeed(session, claimed[1].run);
    succeed(session, claimed[2].run);
    EXPECT_TRUE(renew(session).leases.empty());
}

TEST_P(JobStoreContract, RenewalShowsAClaimWhoseAnswerWasLost) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::ClaimRequest request = claim_request(1);
    value(store().claim(session.key, request)); // the answer is dropped, as a cut connection does
    const store::Renewal renewal = renew(session);
    ASSERT_EQ(renewal.leases.size(), 1u);
    EXPECT_EQ(renewal.leases[0].claim_no, request.claim_no);
    EXPECT_EQ(renewal.leases[0].unended, std::vector{id});
}

TEST_P(JobStoreContract, RenewalPublishesProgress) {
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    store::RenewRequest request;
    request.started = {id};
    request.progress = {{claimed.run, "half way \xF0\x9F\x98\x80", 50}};
    ASSERT_TRUE(store().renew(session.key, request));
    EXPECT_EQ(record(id).progress_percent, 50);
    EXPECT_EQ(record(id).progress_note, "half way \xF0\x9F\x98\x80");

    request.progress[0].note = std::string("bad \0 \xC3\x28 ", 9) + std::string(2'000, 'x');
    request.progress[0].percent = 60;
    ASSERT_TRUE(store().renew(session.key, request)); // text never keeps a worker from renewing
    EXPECT_EQ(record(id).progress_percent, 60);
    EXPECT_LE(record(id).progress_note.size(), 1'024u);

    request.progress[0].run.fence.value -= 1;
    request.progress[0].percent = 99;
    ASSERT_TRUE(store().renew(session.key, request));
    EXPECT_EQ(record(id).progress_percent, 60);
}

TEST_P(JobStoreContract, LongRunThatIsAliveIsNeverReaped) {
    const auto ids = enqueue_many(20, spec());
    const store::Session session = open_session();
    const store::Session idle = open_session();
    const auto claimed = claim(session);
    ASSERT_EQ(claimed.size(), 20u);
    const auto report = pass(6 * terms.lease, {session, idle}, ids);
    EXPECT_EQ(report.sessions_lapsed, 0);
    EXPECT_EQ(report.runs_returned, 0);
    EXPECT_TRUE(claim(idle).empty());
    for (const store::Claimed& one : claimed)
        EXPECT_EQ(succeed(session, one.run), domain::Verdict::ok);
    for (const domain::JobId id : ids) {
        EXPECT_EQ(runs(id).size(), 1u);
        EXPECT_EQ(record(id).attempts_spent, 1);
        EXPECT_EQ(record(id).blame, domain::Blame{});
    }
}

TEST_P(JobStoreContract, LapsedSessionIsFencedForGood) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    let_lapse();
    EXPECT_EQ(state(id), JobState::pending);
    EXPECT_EQ(code_of(store().renew(session.key, {})), ErrorCode::fenced);
    EXPECT_EQ(code_of(store().claim(session.key, claim_request(1))), ErrorCode::fenced);
    EXPECT_EQ(succeed(session, claimed.run), domain::Verdict::fenced);
    EXPECT_EQ(state(id), JobState::pending);
    EXPECT_EQ(record(id).attempts_spent, 0);
    EXPECT_TRUE(store().end_session(session.key, "late"));
}

TEST_P(JobStoreContract, EndedSessionGivesItsRunsBackWithoutBlame) {
    const auto ids = enqueue_many(2, spec());
    const store::Session session = open_session();
    const auto claimed = claim(session);
    renew(session, ids);
    EXPECT_TRUE(store().end_session(session.key, "drain"));
    EXPECT_TRUE(store().end_session(session.key, "drain"));
    pass(terms.sweep);
    for (const domain::JobId id : ids) {
        EXPECT_EQ(state(id), JobState::pending);
        EXPECT_EQ(record(id).blame, domain::Blame{});
        EXPECT_EQ(record(id).attempts_spent, 0);
        EXPECT_NE(runs(id).at(0).outcome, domain::Outcome::running);
    }
    EXPECT_EQ(code_of(store().renew(session.key, {})), ErrorCode::fenced);
    EXPECT_EQ(succeed(session, claimed[0].run), domain::Verdict::fenced);
    EXPECT_EQ(ids_of(claim(open_session())), ids);
}

TEST_P(JobStoreContract, EndedSessionThatHeldOneRunIsNoCrash) {
    const domain::JobId id = enqueue(spec());
    for (int time = 0; time < domain::default_max_crashes + 1; ++time) {
        const store::Session session = open_session();
        ASSERT_EQ(ids_of(claim(session)), std::vector{id});
        renew(session, {id});
        EXPECT_TRUE(store().end_session(session.key, "fenced itself"));
        pass(terms.sweep);
    }
    EXPECT_EQ(state(id), JobState::pending);
    EXPECT_EQ(record(id).blame, domain::Blame{});
}

TEST_P(JobStoreContract, RunsOfASessionWhoseRowIsGoneCountAsLapsed) {
    DEADMAN_NEEDS(forgets_session);
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    ASSERT_TRUE(fixture().forget_session(session.key.id));
    EXPECT_EQ(code_of(store().renew(session.key, {})), ErrorCode::fenced);
    let_lapse();
    EXPECT_EQ(state(id), JobState::pending);
    EXPECT_EQ(succeed(session, claimed.run), domain::Verdict::fenced);
    EXPECT_EQ(ids_of(claim(open_session())), std::vector{id});
}

TEST_P(JobStoreContract, DeathOfTheProcessIsSeenBeforeTheLeaseIsOver) {
    DEADMAN_NEEDS(sees_death);
    const auto ids = enqueue_many(2, spec());
    const store::Session dead = open_session("dead");
    const store::Session alive = open_session("alive");
    ASSERT_EQ(claim(dead, 1).size(), 1u);
    ASSERT_EQ(claim(alive, 1).size(), 1u);
    pass(terms.sweep, {dead, alive}); // the locks are seen held
    ASSERT_TRUE(fixture().make_lock_vanish(dead.key));
    pass(terms.hint_grace + 2 * terms.sweep); // well below the lease; nobody renews
    EXPECT_EQ(state(ids[0]), JobState::pending);
    EXPECT_EQ(state(ids[1]), JobState::running);
    EXPECT_EQ(code_of(store().renew(dead.key, {})), ErrorCode::fenced);
    EXPECT_TRUE(store().renew(alive.key, {}));
}

TEST_P(JobStoreContract, SessionsAreListedWithWhatTheyHold) {
    const auto ids = enqueue_many(3, spec());
    const store::Session session = open_session("w-7");
    ASSERT_EQ(claim(session).size(), 3u);
    renew(session, {ids[0]});
    const auto live = session_record(store(), session.key.id);
    ASSERT_TRUE(live);
    EXPECT_EQ(live->worker, "w-7");
    EXPECT_EQ(live->host, "host");
    EXPECT_EQ(live->pid, 4711);
    EXPECT_EQ(live->version, "test");
    EXPECT_EQ(live->queues, std::vector<std::string>{"default"});
    EXPECT_EQ(live->kinds, std::vector<std::string>{"work"});
    EXPECT_EQ(live->slots, 4);
    EXPECT_EQ(live->held, 3);
    EXPECT_EQ(live->running, 1);
    EXPECT_FALSE(live->ended_at);
    EXPECT_LE(live->started_at, live->renewed_at);
    EXPECT_GE(live->lease_until, live->renewed_at + terms.lease);

    EXPECT_TRUE(store().end_session(session.key, "drain"));
    pass(terms.sweep);
    const auto ended = session_record(store(), session.key.id);
    if (ended) { // shown for a while, or not at all
        EXPECT_TRUE(ended->ended_at);
        EXPECT_EQ(ended->end_reason, "drain");
        EXPECT_EQ(ended->held, 0);
    }
}

TEST_P(JobStoreContract, SecondHandleSeesTheSameData) {
    DEADMAN_NEEDS(second_handle);
    store::JobStore* other = fixture().second_store();
    ASSERT_NE(other, nullptr);
    const domain::JobId id = enqueue(spec());
    const store::Session session = open_session();
    const auto claimed = value(other->claim(session.key, claim_request(1)));
    ASSERT_EQ(ids_of(claimed), std::vector{id});
    EXPECT_EQ(succeed(session, claimed[0].run), domain::Verdict::ok);
    EXPECT_EQ(value(other->find(id)).value().state, JobState::succeeded);
    EXPECT_TRUE(claim(session).empty());
}

} // namespace
} // namespace deadman::contract
