// Enqueue: all or none, in order, keys, due times, bounds, payloads.

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;
using domain::JobState;

TEST_P(JobStoreContract, EnqueueAnswersInTheOrderOfTheSpecs) {
    std::vector<domain::JobSpec> specs;
    for (const char* kind : {"a", "b", "c"})
        specs.push_back(spec(kind));
    const auto enqueued = value(store().enqueue(specs));
    ASSERT_EQ(enqueued.size(), 3u);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        EXPECT_TRUE(enqueued[i].is_new);
        EXPECT_FALSE(enqueued[i].replayed);
        EXPECT_EQ(record(enqueued[i].id).kind, specs[i].kind);
    }
    EXPECT_LT(enqueued[0].id, enqueued[1].id);
    EXPECT_LT(enqueued[1].id, enqueued[2].id);
}

TEST_P(JobStoreContract, EnqueueOfNothingIsFine) {
    EXPECT_TRUE(value(store().enqueue({})).empty());
}

TEST_P(JobStoreContract, EnqueuedJobIsPendingAndCarriesItsSpec) {
    domain::JobSpec made = spec("mail.send");
    made.queue = "mail";
    made.priority = 3;
    made.payload = R"({"to":"a"})";
    made.max_attempts = 7;
    made.retry = {domain::RetryPolicy::Kind::linear, 2s, 30s, 0.5};
    made.timeout = 90s;
    made.transactional = true;
    made.unique_key = "mail:a";
    const store::JobRecord found = record(enqueue(made));
    EXPECT_EQ(found.state, JobState::pending);
    EXPECT_EQ(found.kind, made.kind);
    EXPECT_EQ(found.queue, made.queue);
    EXPECT_EQ(found.priority, made.priority);
    EXPECT_EQ(found.payload, made.payload);
    EXPECT_EQ(found.max_attempts, made.max_attempts);
    EXPECT_EQ(found.retry, made.retry);
    EXPECT_EQ(found.timeout, made.timeout);
    EXPECT_EQ(found.transactional, made.transactional);
    EXPECT_EQ(found.unique_key, made.unique_key);
    EXPECT_EQ(found.attempts_spent, 0);
    EXPECT_EQ(found.blame, domain::Blame{});
    EXPECT_FALSE(found.cancel_requested);
    EXPECT_FALSE(found.finished_at);
    EXPECT_LE(found.created_at, value(store().now()));
}

TEST_P(JobStoreContract, EnqueueIsAllOrNone) {
    std::vector<domain::JobSpec> specs(3, spec());
    specs[2].kind = "not a kind";
    EXPECT_EQ(code_of(store().enqueue(specs)), ErrorCode::invalid_argument);
    EXPECT_EQ(outstanding(), 0);
    specs[2] = spec();
    specs[2].payload = "{";
    EXPECT_EQ(code_of(store().enqueue(specs)), ErrorCode::invalid_argument);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, EnqueueRefusesWhatCanNeverRun) {
    const auto refused = [&](const auto& change) {
        domain::JobSpec made = spec();
        change(made);
        return code_of(store().enqueue({&made, 1})) == ErrorCode::invalid_argument;
    };
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.kind = ""; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.kind = std::string(201, 'k'); }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.queue = "no spaces"; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.priority = -1; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.priority = 10; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.max_attempts = 0; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.max_attempts = 32'001; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.delay = -1us; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.delay = 24h * 366 * 9'000; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) { made.due = domain::latest_time + 1us; }));
    EXPECT_TRUE(refused([](domain::JobSpec& made) {
        made.due = base::from_micros(0);
        made.delay = 1s;
    }));
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, DelayedJobIsScheduledUntilItIsDue) {
    const store::Session session = open_session();
    domain::JobSpec made = spec();
    made.delay = 5s;
    const domain::JobId id = enqueue(made);
    EXPECT_EQ(state(id), JobState::scheduled);
    EXPECT_EQ(record(id).due - record(id).created_at, 5s);
    pass(3s, {session});
    EXPECT_EQ(state(id), JobState::scheduled);
    EXPECT_TRUE(claim(session).empty());
    EXPECT_EQ(pass(3s, {session}).promoted, 1);
    EXPECT_EQ(state(id), JobState::pending);
    EXPECT_EQ(ids_of(claim(session)), std::vector{id});
}

TEST_P(JobStoreContract, JobDueInThePastIsPendingAtOnce) {
    domain::JobSpec made = spec();
    made.due = value(store().now()) - 1h;
    EXPECT_EQ(state(enqueue(made)), JobState::pending);
    made.due.reset();
    made.delay = 0us;
    EXPECT_EQ(state(enqueue(made)), JobState::pending);
}

TEST_P(JobStoreContract, FarDueTimesDoNotWrap) {
    for (const base::Duration delay : {base::Duration(std::chrono::milliseconds(2'147'483'648)),
                                       base::Duration(24h * 30), base::Duration(24h * 365 * 100)}) {
        domain::JobSpec made = spec();
        made.delay = delay;
        const store::JobRecord found = record(enqueue(made));
        EXPECT_EQ(found.state, JobState::scheduled);
        EXPECT_EQ(found.due - found.created_at, delay);
    }
    domain::JobSpec made = spec();
    made.due = domain::latest_time;
    EXPECT_EQ(record(enqueue(made)).due, domain::latest_time);
    EXPECT_EQ(pass(2s).promoted, 0);
}

TEST_P(JobStoreContract, UniqueKeyIsHeldWhileItsJobIsUnfinished) {
    const store::Session session = open_session();
    domain::JobSpec made = spec();
    made.unique_key = "only one";
    const domain::JobId first = enqueue(made);
    const auto second = value(store().enqueue({&made, 1})).at(0);
    EXPECT_EQ(second.id, first);
    EXPECT_FALSE(second.is_new);
    EXPECT_FALSE(second.replayed);

    const store::Claimed claimed = claim_one(session);
    EXPECT_EQ(enqueue(made), first);
    EXPECT_EQ(succeed(session, claimed.run), domain::Verdict::ok);
    const auto third = value(store().enqueue({&made, 1})).at(0);
    EXPECT_TRUE(third.is_new);
    EXPECT_NE(third.id, first);
}

TEST_P(JobStoreContract, UniqueKeyHoldsWithinOneCall) {
    domain::JobSpec made = spec();
    made.unique_key = "k";
    const std::vector<domain::JobSpec> specs{made, spec(), made};
    const auto enqueued = value(store().enqueue(specs));
    EXPECT_TRUE(enqueued[0].is_new);
    EXPECT_FALSE(enqueued[2].is_new);
    EXPECT_EQ(enqueued[2].id, enqueued[0].id);
    EXPECT_EQ(outstanding(), 2);
}

TEST_P(JobStoreContract, CancelledJobGivesItsUniqueKeyBack) {
    domain::JobSpec made = spec();
    made.unique_key = "k";
    const domain::JobId first = enqueue(made);
    EXPECT_EQ(value(store().cancel(first)), store::CancelAnswer::cancelled);
    EXPECT_NE(enqueue(made), first);
}

TEST_P(JobStoreContract, IdempotencyKeyReplaysTheFirstJob) {
    domain::JobSpec made = spec();
    made.idempotency_key = "request 1";
    const domain::JobId first = enqueue(made);
    const auto again = value(store().enqueue({&made, 1})).at(0);
    EXPECT_EQ(again.id, first);
    EXPECT_FALSE(again.is_new);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(outstanding(), 1);
}

TEST_P(JobStoreContract, IdempotencyKeyOfAnotherRequestFailsTheWholeCall) {
    domain::JobSpec made = spec();
    made.idempotency_key = "request 1";
    enqueue(made);
    made.payload = R"({"other":true})";
    const std::vector<domain::JobSpec> specs{spec(), made};
    const auto refused = store().enqueue(specs);
    ASSERT_EQ(code_of(refused), ErrorCode::conflict);
    EXPECT_NE(refused.error().message.find("request 1"), std::string::npos)
        << refused.error().message;
    EXPECT_EQ(outstanding(), 1);
}

TEST_P(JobStoreContract, IdempotencyKeysOfOneCallAreCheckedAgainstEachOther) {
    domain::JobSpec made = spec();
    made.idempotency_key = "k";
    domain::JobSpec other = made;
    other.priority = 1;
    const std::vector<domain::JobSpec> same{made, made};
    const auto enqueued = value(store().enqueue(same));
    EXPECT_TRUE(enqueued[0].is_new);
    EXPECT_TRUE(enqueued[1].replayed);
    EXPECT_EQ(enqueued[1].id, enqueued[0].id);

    made.idempotency_key = other.idempotency_key = "k2";
    const std::vector<domain::JobSpec> different{made, other};
    EXPECT_EQ(code_of(store().enqueue(different)), ErrorCode::conflict);
    EXPECT_EQ(outstanding(), 1);
}

TEST_P(JobStoreContract, IdempotencyKeyOutlivesItsJobAndEndsAfterADay) {
    const store::Session session = open_session();
    domain::JobSpec made = spec();
    made.idempotency_key = "k";
    const domain::JobId first = enqueue(made);
    succeed(session, claim_one(session).run);
    ASSERT_TRUE(store().remove(first));
    const auto replay = value(store().enqueue({&made, 1})).at(0);
    EXPECT_EQ(replay.id, first);
    EXPECT_TRUE(replay.replayed);

    fixture().advance(domain::idempotency_key_life + 1s); // and nobody has swept it away yet
    const auto later = value(store().enqueue({&made, 1})).at(0);
    EXPECT_TRUE(later.is_new);
    EXPECT_NE(later.id, first);
}

TEST_P(JobStoreContract, IdempotencyKeyThatMetAUniqueKeyReplaysItsHolder) {
    domain::JobSpec holder = spec();
    holder.unique_key = "u";
    const domain::JobId first = enqueue(holder);
    domain::JobSpec made = holder;
    made.idempotency_key = "k";
    EXPECT_EQ(enqueue(made), first);
    const auto again = value(store().enqueue({&made, 1})).at(0);
    EXPECT_EQ(again.id, first);
    EXPECT_TRUE(again.replayed);
}

TEST_P(JobStoreContract, PayloadComesBackByteForByte) {
    const store::Session session = open_session();
    const std::vector<std::string> payloads{
        "{}",
        " { \"b\" : 1 ,\n\t\"a\":[ ] } ",
        R"({"id":1970670598291982290,"neg":-9223372036854775808,"u":18446744073709551615})",
        R"({"d":0.1000000000000000055,"e":1E+2,"z":-0.0})",
        R"({"a":"\ud83d\ude00\u2028\u202e","s":"\/"})",
        "{\"a\":\"\xF0\x9F\x98\x80\xE2\x80\xA8\xE2\x80\xAE '; drop table job; --\"}",
        "\"text\"",
        "null",
    };
    for (const std::string& payload : payloads) {
        domain::JobSpec made = spec();
        made.payload = payload;
        const domain::JobId id = enqueue(made);
        EXPECT_EQ(record(id).payload, payload);
        const store::Claimed claimed = claim_one(session);
        EXPECT_EQ(claimed.payload, payload);
        EXPECT_EQ(succeed(session, claimed.run), domain::Verdict::ok);
    }
}

TEST_P(JobStoreContract, PayloadThatCannotBeCarriedIsRefused) {
    const std::vector<std::string> payloads{
        "",
        "{",
        "{} {}",
        R"({"a":"\u0000"})",
        R"({"\u0000k":1})",
        R"({"a":"\ud800"})",
        R"({"dup":1,"dup":2})",
        R"({"e":1e400})",
        R"({"u":18446744073709551616})",
        "{\"a\":\"\xC3\x28\"}",
        "{\"a\":\"\x97\"}",
        std::string("{\"a\":\"\0\"}", 9),
        std::string(10'000, '[') + std::string(10'000, ']'),
    };
    for (const std::string& payload : payloads) {
        domain::JobSpec made = spec();
        made.payload = payload;
        EXPECT_EQ(code_of(store().enqueue({&made, 1})), ErrorCode::invalid_argument)
            << payload.substr(0, 40);
    }
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(JobStoreContract, PayloadUpToTheBoundIsAcceptedAndNoMore) {
    domain::JobSpec made = spec();
    made.payload = '"' + std::string(domain::default_max_payload_bytes - 2, 'x') + '"';
    const domain::JobId id = enqueue(made);
    EXPECT_TRUE(record(id).payload == made.payload);
    made.payload.insert(1, "x");
    EXPECT_EQ(code_of(store().enqueue({&made, 1})), ErrorCode::invalid_argument);
    EXPECT_EQ(outstanding(), 1);
}

TEST_P(JobStoreContract, IdsPast32And53BitsWorkEverywhere) {
    DEADMAN_NEEDS(raises_sequences);
    for (const std::int64_t to : {std::int64_t{2'147'483'640}, (std::int64_t{1} << 53) + 10}) {
        ASSERT_TRUE(fixture().raise_sequences(to));
        const store::Session session = open_session();
        const auto ids = enqueue_many(20, spec());
        EXPECT_GE(ids.front().value, to);
        auto claimed = claim(session);
        ASSERT_EQ(ids_of(claimed), ids);
        EXPECT_GE(claimed[0].run.fence.value, to);
        EXPECT_EQ(renew(session).leases.at(0).unended.size(), 20u);
        EXPECT_EQ(succeed(session, claimed[0].run), domain::Verdict::ok);
        EXPECT_EQ(complete(session, claimed[1].run, answer(domain::AnswerKind::failed)),
                  domain::Verdict::ok);
        EXPECT_EQ(complete(session, claimed[2].run, answer(domain::AnswerKind::error, 1s)),
                  domain::Verdict::ok);
        EXPECT_EQ(value(store().cancel(ids[3])), store::CancelAnswer::requested);
        EXPECT_TRUE(store().retry(ids[1]));
        EXPECT_TRUE(store().remove(ids[0]));
        let_lapse();
        EXPECT_EQ(state(ids[1]), JobState::pending);
        EXPECT_EQ(state(ids[2]), JobState::pending);
        EXPECT_EQ(state(ids[3]), JobState::cancelled);
        EXPECT_EQ(state(ids[4]), JobState::pending);
        const store::Session next = open_session();
        std::vector<store::RunEnd> ends;
        for (const store::Claimed& one : claim(next))
            ends.push_back({one.run, {}});
        EXPECT_EQ(ends.size(), 18u);
        EXPECT_TRUE(store().complete(next.key, ends));
        EXPECT_EQ(value(store().list({.limit = 5})).jobs.at(0).id, ids.back());
    }
    EXPECT_EQ(outstanding(), 0);
}

} // namespace
} // namespace deadman::contract
