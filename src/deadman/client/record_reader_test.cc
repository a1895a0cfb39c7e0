// Goal: the server's JSON becomes the records that it was made of, payloads byte for byte; an
// answer that is not understood is an error and nothing else. Method: literal answers, cut and
// changed.

#include "deadman/client/internal/record_reader.h"

#include <gtest/gtest.h>

#include "deadman/base/random.h"
#include "deadman/base/time_text.h"

namespace deadman::client {
namespace {

const std::string job =
    R"({"id":"9007199254740993","state":"failed","kind":"k","queue":"q","priority":5,)"
    R"("payload":{"n" : 1.50E+2},"attempts":2,"max_attempts":20,"retry":"fixed:5s:5s:0","timeout":"90s",)"
    R"("transactional":false,"unique_key":null,"lapse_score":1,"crashes":0,"snoozes":0,)"
    R"("cancel_requested":false,"created_at":"2026-03-01T09:30:00.000001Z","due":"2026-03-01T09:30:00.000001Z",)"
    R"("fence":"7","session_id":null,"worker":null,"claimed_at":null,"finished_at":"2026-03-01T09:31:00.000000Z",)"
    R"("reason":"error","message":"caf\u00e9","result":null,"progress_percent":0,"progress_note":null)";

TEST(RecordReader, ReadsAJobWithItsRuns) {
    const auto found = read_job_with_runs(
        job +
        R"(,"runs":[{"fence":"7","outcome":"failed","attempts":1,"session_id":"3","worker":"w",)"
        R"("claimed_at":"2026-03-01T09:30:30.000000Z","finished_at":null,"reason":null,"message":null}]})");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->job.id.value, 9007199254740993);
    EXPECT_EQ(found->job.payload, R"({"n" : 1.50E+2})");
    EXPECT_EQ(found->job.state, domain::JobState::failed);
    EXPECT_EQ(found->job.message, "caf\xC3\xA9");
    EXPECT_EQ(found->job.timeout, std::chrono::seconds(90));
    EXPECT_EQ(found->job.fence->value, 7);
    EXPECT_FALSE(found->job.session);
    EXPECT_EQ(found->job.result, "");
    EXPECT_EQ(base::format_rfc3339(found->job.created_at), "2026-03-01T09:30:00.000001Z");
    ASSERT_EQ(found->runs.size(), 1U);
    EXPECT_EQ(found->runs[0].outcome, domain::Outcome::failed);
    EXPECT_EQ(found->runs[0].session->value, 3);
}

TEST(RecordReader, ReadsAPage) {
    const auto page = read_job_page("{\"items\":[" + job + "}," + job +
                                    "}],\"next_cursor\":\"abc\",\"has_more\":true}");
    ASSERT_TRUE(page);
    EXPECT_EQ(page->jobs.size(), 2U);
    EXPECT_EQ(page->next_cursor, "abc");
}

TEST(RecordReader, NewMembersAreNoHarm) {
    EXPECT_TRUE(read_version(
        R"({"version":"9","store":"sqlite","started_at":"2026-03-01T09:30:00.000001Z","new":[{}]})"));
}

TEST(RecordReader, WhatIsNotUnderstoodIsNamed) {
    const auto refused = read_version(R"({"version":"9","store":7,"started_at":"x"})");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::ErrorCode::internal);
    EXPECT_NE(refused.error().message.find("store"), std::string::npos);
    for (const char* text : {"", "[]", "<html>", "{", "{\"items\":{}}", "{\"items\":[1]}"})
        EXPECT_FALSE(read_queues(text)) << text;
}

TEST(RecordReader, DamagedAnswersAreErrorsAndNothingElse) {
    const auto seed = base::random_seed();
    base::Random random(seed);
    const std::string whole = "{\"items\":[" + job + "}],\"next_cursor\":null,\"has_more\":false}";
    for (int round = 0; round < 5'000; ++round) {
        std::string text = whole.substr(0, 1 + random.below(whole.size()));
        text[random.below(text.size())] = static_cast<char>(random.below(256));
        const auto page = read_job_page(text);
        if (text.size() + 1 < whole.size()) {
            ASSERT_FALSE(page) << "seed " << seed << ": " << text;
        }
    }
}

TEST(RecordWriter, WritesOnlyWhatASpecSays) {
    domain::JobSpec spec;
    spec.kind = "k";
    spec.payload = R"({ "a":1.0})";
    spec.delay = std::chrono::seconds(90);
    const std::string body = write_batch(std::span(&spec, 1));
    EXPECT_NE(body.find(R"("payload":{ "a":1.0})"), std::string::npos);
    EXPECT_NE(body.find(R"("delay":"90s")"), std::string::npos) << body;
    EXPECT_EQ(body.find("due"), std::string::npos);
    EXPECT_EQ(body.find("unique_key"), std::string::npos);
}

TEST(RecordWriter, EscapesTheQuery) {
    store::JobFilter filter;
    filter.queue = "eu/mail:fast";
    filter.states = {domain::JobState::failed, domain::JobState::expired};
    filter.created_from = base::TimePoint{};
    EXPECT_EQ(write_query(filter, "c-_"),
              "?limit=50&state=failed&state=expired&queue=eu%2Fmail%3Afast"
              "&created=1970-01-01T00%3A00%3A00.000000Z..&cursor=c-_");
}

} // namespace
} // namespace deadman::client
