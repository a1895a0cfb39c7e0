// What a bulk enqueue does when its answers fail: nothing twice, nothing silently left out.

#include <deque>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/deadman/bulk_enqueue.h"

namespace deadman::cli {
namespace {

using base::ErrorCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Answers with what is in the script, then with success. Enqueues on success alone.
class ScriptedBackend final : public JobBackend {
  public:
    std::deque<std::optional<ErrorCode>> script;
    std::vector<std::string> enqueued; // payloads
    std::size_t calls = 0;
    std::string refused; // a payload that is never taken

    std::string name() const override {
        return "scripted";
    }

    BatchBounds batch_bounds() const override {
        return {.most_jobs = 2, .most_bytes = 1'000};
    }

    base::Result<base::TimePoint> now() override {
        return base::TimePoint{};
    }

    base::Result<std::vector<store::Enqueued>>
    enqueue(std::span<const domain::JobSpec> specs) override {
        ++calls;
        const auto next = script.empty() ? std::nullopt : script.front();
        if (!script.empty())
            script.pop_front();
        if (next)
            return base::fail(*next, "scripted");
        for (const domain::JobSpec& spec : specs)
            if (spec.payload == refused)
                return base::fail(ErrorCode::conflict, "refused");
        std::vector<store::Enqueued> answers;
        for (const domain::JobSpec& spec : specs) {
            enqueued.push_back(spec.payload);
            answers.push_back({.id = domain::JobId{static_cast<std::int64_t>(enqueued.size())}});
        }
        return answers;
    }

    base::Result<std::optional<store::JobRecord>> find(domain::JobId) override {
        return std::optional<store::JobRecord>();
    }

    base::Result<std::vector<store::RunRecord>> runs(domain::JobId) override {
        return std::vector<store::RunRecord>();
    }

    base::Result<ListedJobs> list(const store::JobFilter&, const std::string&) override {
        return ListedJobs{};
    }

    base::Result<store::CancelAnswer> cancel(domain::JobId) override {
        return store::CancelAnswer::not_found;
    }

    base::Status retry(domain::JobId) override {
        return {};
    }

    base::Status remove(domain::JobId) override {
        return {};
    }

    base::Result<std::vector<store::QueueRecord>> queues() override {
        return std::vector<store::QueueRecord>();
    }

    base::Status pause_queue(const std::string&) override {
        return {};
    }

    base::Status resume_queue(const std::string&) override {
        return {};
    }

    base::Result<std::vector<store::SessionRecord>> sessions() override {
        return std::vector<store::SessionRecord>();
    }
};

class BulkEnqueueTest : public testing::Test {
  protected:
    base::Status run(const std::string& lines, const std::string& prefix = "") {
        auto interruption = Interruption::watch(clock_);
        BulkOptions options;
        options.idempotency_prefix = prefix;
        BulkEnqueue bulk(backend_, **interruption, options);
        std::istringstream input(lines);
        auto status = bulk.run(input);
        report_ = bulk.report();
        return status;
    }

    static std::string lines(int count) {
        std::string text;
        for (int n = 1; n <= count; ++n)
            text += R"({"kind":"a.b","payload":)" + std::to_string(n) + "}\n";
        return text;
    }

    base::SystemClock clock_;
    ScriptedBackend backend_;
    BulkReport report_;
};

TEST_F(BulkEnqueueTest, SendsBatchesWithinTheBounds) {
    ASSERT_TRUE(run(lines(5)));
    EXPECT_THAT(backend_.enqueued, ElementsAre("1", "2", "3", "4", "5"));
    EXPECT_EQ(backend_.calls, 3U);
    EXPECT_EQ(report_.enqueued, 5);
}

TEST_F(BulkEnqueueTest, TriesAStoreThatWentAwayAgain) {
    backend_.script = {std::nullopt, ErrorCode::unavailable, ErrorCode::unavailable};
    ASSERT_TRUE(run(lines(4)));
    EXPECT_THAT(backend_.enqueued, ElementsAre("1", "2", "3", "4"));
}

TEST_F(BulkEnqueueTest, DoesNotWaitForAStoreThatWasNeverThere) {
    backend_.script = {ErrorCode::unavailable};
    const auto status = run(lines(4));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::unavailable);
    EXPECT_EQ(backend_.calls, 1U);
}

TEST_F(BulkEnqueueTest, NeverRepeatsAnUnknownOutcomeWithoutKeys) {
    backend_.script = {std::nullopt, ErrorCode::outcome_unknown};
    const auto status = run(lines(5));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::outcome_unknown);
    EXPECT_THAT(status.error().message, HasSubstr("lines 3 to 4"));
    EXPECT_EQ(backend_.calls, 2U);
    EXPECT_EQ(report_.lines, 2);
}

TEST_F(BulkEnqueueTest, RepeatsAnUnknownOutcomeWithKeys) {
    backend_.script = {std::nullopt, ErrorCode::outcome_unknown};
    ASSERT_TRUE(run(lines(4), "prefix"));
    EXPECT_EQ(backend_.calls, 3U);
}

TEST_F(BulkEnqueueTest, FindsTheLineThatABatchWasRefusedFor) {
    backend_.refused = "4";
    const auto status = run(lines(6));
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::conflict);
    EXPECT_THAT(status.error().message, HasSubstr("line 4:"));
    EXPECT_THAT(backend_.enqueued, ElementsAre("1", "2", "3"));
    EXPECT_EQ(report_.lines, 3);
}

TEST_F(BulkEnqueueTest, EnqueuesWhatStandsBeforeABadLine) {
    const auto status = run(lines(1) + "{\"kind\":\n" + lines(1));
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("line 2:"));
    EXPECT_THAT(backend_.enqueued, ElementsAre("1"));
}

TEST_F(BulkEnqueueTest, NothingToDoIsDone) {
    ASSERT_TRUE(run("\n  \n\r\n"));
    EXPECT_THAT(backend_.enqueued, IsEmpty());
    EXPECT_EQ(backend_.calls, 0U);
}

} // namespace
} // namespace deadman::cli
