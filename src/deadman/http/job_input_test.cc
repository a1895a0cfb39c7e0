// Goal: a payload comes out byte for byte, and what is wrong is named where it stands. Method:
// tables, and random damage to a valid body.

#include "deadman/http/job_input.h"

#include <set>

#include <gtest/gtest.h>

#include "deadman/base/random.h"

namespace deadman::http {
namespace {

const domain::PayloadLimits limits;

std::string pointer_of(const Problem& problem) {
    return problem.errors.empty() ? "none" : problem.errors.front().pointer;
}

TEST(JobInput, TakesThePayloadOutByteForByte) {
    const std::string payload =
        "{ \"n\" : 1.50E+2,\n \"id\":18446744073709551615, \"t\":\"\\u0041\\/\" }";
    const auto job =
        read_job("{\"kind\":\"a\", \"payload\" : " + payload + " ,\"queue\":\"q\"}", limits);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->payload, payload);
    EXPECT_EQ(job->queue, "q");
}

TEST(JobInput, ReadsEveryMember) {
    const auto job = read_job(
        R"({"kind":"k","queue":"q","priority":0,"delay":"90s","max_attempts":7,"retry":"fixed:2s",)"
        R"("timeout":"0","transactional":true,"unique_key":"u","idempotency_key":"i"})",
        limits);
    ASSERT_TRUE(job) << job.error().detail;
    EXPECT_EQ(job->priority, 0);
    EXPECT_EQ(job->delay, std::chrono::seconds(90));
    EXPECT_EQ(job->max_attempts, 7);
    EXPECT_EQ(job->retry.kind, domain::RetryPolicy::Kind::fixed);
    EXPECT_EQ(job->timeout, base::Duration{});
    EXPECT_TRUE(job->transactional);
    EXPECT_EQ(job->unique_key, "u");
    EXPECT_EQ(job->idempotency_key, "i");
    EXPECT_EQ(job->payload, "{}");
}

TEST(JobInput, NamesThePlaceOfEachFault) {
    const auto refused =
        read_job(R"({"kind":1,"what":2,"delay":-1,"payload":{"a":1,"a":2}})", limits);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().status, 422);
    std::set<std::string> pointers;
    for (const FieldError& error : refused.error().errors)
        pointers.insert(error.pointer);
    EXPECT_EQ(pointers, (std::set<std::string>{"/kind", "/what", "/delay", "/payload"}));
}

TEST(JobInput, TellsBrokenJsonFromAWrongMember) {
    EXPECT_EQ(read_job("{\"kind\":\"a\"", limits).error().status, 400);
    EXPECT_EQ(read_job("{\"kind\":\"a\",\"payload\":[1,}", limits).error().status, 400);
    EXPECT_EQ(read_job("{\"kind\":\"a\",\"payload\":[1,]}", limits).error().status, 422);
    const auto large = read_job("{\"kind\":\"a\",\"payload\":\"" + std::string(99, 'x') + "\"}",
                                {.max_bytes = 100});
    EXPECT_EQ(large.error().status, 413);
    EXPECT_EQ(pointer_of(large.error()), "/payload");
}

TEST(BatchInput, NamesTheJob) {
    const auto batch = read_batch(R"({"jobs":[{"kind":"a"},{"kind":""},{"kind":"b"}]})", limits);
    ASSERT_FALSE(batch);
    EXPECT_EQ(pointer_of(batch.error()), "/jobs/1/kind");
}

TEST(BatchInput, BindsItsJobsToOneKey) {
    const auto bound = [](const char* body, const char* key) {
        auto jobs = *read_batch(body, limits);
        bind_to_key(jobs, key);
        return jobs;
    };
    const auto fingerprint = [](const domain::JobSpec& job) { return domain::fingerprint(job); };
    const auto two = bound(R"({"jobs":[{"kind":"a"},{"kind":"a"}]})", "k");
    const auto again = bound(R"({"jobs":[{"kind":"a"},{"kind":"a"}]})", "k");
    const auto three = bound(R"({"jobs":[{"kind":"a"},{"kind":"a"},{"kind":"a"}]})", "k");
    const auto other_key = bound(R"({"jobs":[{"kind":"a"},{"kind":"a"}]})", "l");
    EXPECT_NE(two[0].idempotency_key, two[1].idempotency_key);
    EXPECT_EQ(two[0].idempotency_key, three[0].idempotency_key);
    EXPECT_EQ(fingerprint(two[0]), fingerprint(again[0]));
    // The same first job under the same key, in another batch: another request.
    EXPECT_NE(fingerprint(two[0]), fingerprint(three[0]));
    EXPECT_NE(two[0].idempotency_key, other_key[0].idempotency_key);
    EXPECT_EQ(bound(R"({"jobs":[{"kind":"a","idempotency_key":"own"}]})", "k")[0].idempotency_key,
              "own");
    // A single job under the same key meets the batch: another request.
    auto single = *read_job(R"({"kind":"a"})", {});
    single.idempotency_key = "k";
    EXPECT_EQ(two[0].idempotency_key, single.idempotency_key);
    EXPECT_NE(fingerprint(two[0]), fingerprint(single));
}

TEST(IdempotencyKey, IsTheSameQuotedAndBare) {
    EXPECT_EQ(*read_idempotency_key("abc"), "abc");
    EXPECT_EQ(*read_idempotency_key("\"abc\""), "abc");
    EXPECT_EQ(*read_idempotency_key(R"("a\"b\\c")"), R"(a"b\c)");
    for (const char* text : {"", "\"\"", "\"a", "\"a\"b", "\"a\\", "a\tb", "\xff"})
        EXPECT_FALSE(read_idempotency_key(text)) << text;
}

TEST(JobInput, DamagedBodiesAreRefusedOrStillAJob) {
    const auto seed = base::random_seed();
    base::Random random(seed);
    const std::string whole =
        R"({"jobs":[{"kind":"a","payload":{"x":[1,"y"]},"delay":"1s"},{"kind":"b","due":"2030-01-01T00:00:00Z"}]})";
    for (int round = 0; round < 5'000; ++round) {
        std::string text = whole;
        for (auto changes = random.below(4); changes > 0; --changes)
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        const auto jobs = read_batch(text, limits);
        if (!jobs)
            continue;
        for (const domain::JobSpec& job : *jobs) {
            ASSERT_TRUE(domain::validate_spec(job)) << "seed " << seed << ": " << text;
            ASSERT_TRUE(domain::validate_payload(job.payload)) << "seed " << seed << ": " << text;
        }
    }
}

} // namespace
} // namespace deadman::http
