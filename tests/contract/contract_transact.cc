// transact(): the effect and the end of the run together, or neither.

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::JobState;
using domain::Verdict;

TEST_P(JobStoreContract, EffectAndEndCommitTogether) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(fixture().write_effect(transaction, "one"));
        return fixture().write_effect(transaction, "two");
    };
    const auto done = store().transact(session.key, claimed.run, R"({"ok": true})", body);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(fixture().effects(), (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(state(id), JobState::succeeded);
    EXPECT_EQ(record(id).result, R"({"ok": true})");
    EXPECT_EQ(record(id).attempts_spent, 1);
    EXPECT_EQ(runs(id).at(0).outcome, domain::Outcome::succeeded);
    EXPECT_TRUE(renew(session).leases.empty());
    // Read-back after an answer that was lost.
    EXPECT_EQ(succeed(session, claimed.run), Verdict::repeat);
}

TEST_P(JobStoreContract, ErrorOfTheBodyRollsBackAndTheRunGoesOn) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(fixture().write_effect(transaction, "never"));
        return base::fail(ErrorCode::exhausted, "the body's own words");
    };
    const auto failed = store().transact(session.key, claimed.run, {}, body);
    ASSERT_EQ(code_of(failed), ErrorCode::exhausted);
    EXPECT_EQ(failed.error().message, "the body's own words");
    EXPECT_TRUE(fixture().effects().empty());
    EXPECT_EQ(state(id), JobState::running);
    EXPECT_EQ(complete(session, claimed.run, answer(domain::AnswerKind::error, 1s)), Verdict::ok);
    EXPECT_EQ(state(id), JobState::scheduled);
}

TEST_P(JobStoreContract, JobThatWasNotDeclaredTransactionalEndsInATransactionAllTheSame) {
    const domain::JobId id = enqueue(spec());
    enqueue(spec()); // so that a claim has something to share
    const store::Session session = open_session();
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        return fixture().write_effect(transaction, "once");
    };
    const auto transact_first = [&]() -> base::Status {
        for (const store::Claimed& claimed : claim(session, 2))
            if (claimed.run.job == id)
                return store().transact(session.key, claimed.run, {}, body);
        return base::fail(ErrorCode::not_found, "the job was not claimable");
    };
    auto done = transact_first();
    if (!done) { // a store where leases are shared hands it back once, with a lease of its own
        EXPECT_EQ(done.error().code, ErrorCode::conflict) << done.error().message;
        EXPECT_TRUE(fixture().effects().empty());
        EXPECT_EQ(record(id).attempts_spent, 0);
        done = transact_first();
    }
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(state(id), JobState::succeeded);
    EXPECT_EQ(fixture().effects(), (std::vector<std::string>{"once"}));
}

TEST_P(JobStoreContract, BodyThatThrowsRollsBack) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(fixture().write_effect(transaction, "never"));
        throw std::runtime_error("thrown");
    };
    try { // the exception may come through or be made an error
        EXPECT_FALSE(store().transact(session.key, claimed.run, {}, body));
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "thrown");
    }
    EXPECT_TRUE(fixture().effects().empty());
    EXPECT_EQ(state(id), JobState::running);
    EXPECT_EQ(succeed(session, claimed.run), Verdict::ok);
}

TEST_P(JobStoreContract, TransactOfALapsedRunWritesNothing) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session paused = open_session();
    const store::Claimed old = claim_one(paused);
    let_lapse();
    const auto body = [&](store::EffectTransaction& transaction) {
        return fixture().write_effect(transaction, "late");
    };
    EXPECT_EQ(code_of(store().transact(paused.key, old.run, {}, body)), ErrorCode::fenced);
    const store::Session session = open_session();
    const store::Claimed current = claim_one(session);
    EXPECT_EQ(code_of(store().transact(paused.key, old.run, {}, body)), ErrorCode::fenced);
    EXPECT_EQ(code_of(store().transact(session.key, old.run, {}, body)), ErrorCode::fenced);
    EXPECT_EQ(code_of(store().transact(paused.key, current.run, {}, body)), ErrorCode::fenced);
    EXPECT_TRUE(fixture().effects().empty());
    EXPECT_EQ(state(id), JobState::running);
}

TEST_P(JobStoreContract, TransactOfACancelledJobWritesNothing) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    EXPECT_EQ(value(store().cancel(id)), store::CancelAnswer::requested);
    const auto body = [&](store::EffectTransaction& transaction) {
        return fixture().write_effect(transaction, "unwanted");
    };
    EXPECT_EQ(code_of(store().transact(session.key, claimed.run, {}, body)), ErrorCode::cancelled);
    EXPECT_TRUE(fixture().effects().empty());
    EXPECT_EQ(succeed(session, claimed.run), Verdict::cancelled);
    EXPECT_EQ(state(id), JobState::cancelled);
}

TEST_P(JobStoreContract, SecondTransactOfARunWritesNothing) {
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    const auto body = [&](store::EffectTransaction& transaction) {
        return fixture().write_effect(transaction, "once");
    };
    EXPECT_TRUE(store().transact(session.key, claimed.run, {}, body));
    EXPECT_EQ(code_of(store().transact(session.key, claimed.run, {}, body)), ErrorCode::fenced);
    EXPECT_EQ(fixture().effects(), std::vector<std::string>{"once"});
    EXPECT_EQ(state(id), JobState::succeeded);
}

TEST_P(JobStoreContract, SuspectMayEndInATransaction) {
    make_suspect("pills");
    const store::Session session = open_session();
    store::ClaimRequest request = claim_request(1, {"pills"});
    request.suspect = true;
    const auto claimed = value(store().claim(session.key, request));
    ASSERT_EQ(claimed.size(), 1u);
    const auto body = [&](store::EffectTransaction& transaction) {
        return fixture().write_effect(transaction, "pill");
    };
    EXPECT_TRUE(store().transact(session.key, claimed[0].run, {}, body));
    EXPECT_EQ(fixture().effects(), std::vector<std::string>{"pill"});
}

TEST_P(JobStoreContract, CancelDuringATransactionAgreesWithItsOutcome) {
    DEADMAN_NEEDS(enters_in_transaction);
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    store::CancelAnswer cancelled = store::CancelAnswer::not_found;
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(fixture().write_effect(transaction, "maybe"));
        DEADMAN_TRY(cancelled, store().cancel(id));
        return {};
    };
    const auto done = store().transact(session.key, claimed.run, {}, body);
    if (cancelled == store::CancelAnswer::requested) {
        EXPECT_EQ(code_of(done), ErrorCode::cancelled);
        EXPECT_TRUE(fixture().effects().empty());
        EXPECT_EQ(state(id), JobState::running);
    } else {
        EXPECT_EQ(cancelled, store::CancelAnswer::unknown);
        EXPECT_TRUE(done);
        EXPECT_EQ(fixture().effects().size(), 1u);
        EXPECT_EQ(state(id), JobState::succeeded);
    }
}

TEST_P(JobStoreContract, LapseDuringATransactionDoublesNoEffect) {
    DEADMAN_NEEDS(enters_in_transaction);
    const domain::JobId id = enqueue(transactional_spec());
    const store::Session session = open_session();
    const store::Claimed claimed = claim_one(session);
    sweep();
    const auto body = [&](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(fixture().write_effect(transaction, "maybe"));
        let_lapse();
        return {};
    };
    const auto done = store().transact(session.key, claimed.run, {}, body);
    if (done) {
        EXPECT_EQ(fixture().effects().size(), 1u);
        EXPECT_EQ(state(id), JobState::succeeded);
    } else {
        EXPECT_EQ(done.error().code, ErrorCode::fenced);
        EXPECT_TRUE(fixture().effects().empty());
        pass(2 * terms.sweep);
        EXPECT_EQ(state(id), JobState::pending);
    }
}

} // namespace
} // namespace deadman::contract
