// Goal: calls that meet share a statement, each gets its own answer, and none pays for another's
// mistake. Method: a sender that the test holds up.

#include "deadman/store/postgres/internal/enqueue_group.h"

#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadman::store::postgres {
namespace {

using Specs = EnqueueGroup::Specs;
using Answer = EnqueueGroup::Answer;
using testing::ElementsAre;

domain::JobSpec job(std::string kind) {
    domain::JobSpec spec;
    spec.kind = std::move(kind);
    return spec;
}

/// Numbers the jobs in the order in which they are sent. Closed: sends wait until it is opened.
class Server {
  public:
    Answer send(std::span<const Specs> calls) {
        std::unique_lock lock(mutex_);
        sizes_.push_back(calls.size());
        ++inside_;
        most_inside_ = std::max(most_inside_, inside_);
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
        --inside_;
        std::vector<Enqueued> answers;
        for (const Specs& specs : calls) {
            for (const domain::JobSpec& spec : specs) {
                if (spec.kind == "bad")
                    return base::fail(base::ErrorCode::conflict, "the key is taken");
                if (spec.kind == "cut")
                    return base::fail(base::ErrorCode::outcome_unknown, "cut");
                answers.push_back({.id = {++last_id_}});
            }
        }
        return answers;
    }

    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

    void await_sends(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return sizes_.size() >= count; });
    }

    std::vector<std::size_t> sizes() {
        const std::lock_guard lock(mutex_);
        return sizes_;
    }

    int most_inside() {
        const std::lock_guard lock(mutex_);
        return most_inside_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    int inside_ = 0;
    int most_inside_ = 0;
    std::int64_t last_id_ = 0;
    std::vector<std::size_t> sizes_;
};

class EnqueueGroupTest : public testing::Test {
  protected:
    /// The first call is held up at the server, the others come meanwhile. Answers in that order.
    std::vector<Answer>
    call_while_one_is_under_way(const std::vector<std::vector<domain::JobSpec>>& calls) {
        std::vector<std::optional<Answer>> answers(calls.size());
        const std::size_t sent_before = server.sizes().size();
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            threads.emplace_back([&, i] { answers[i] = group.enqueue(calls[i]); });
            if (i == 0)
                server.await_sends(sent_before + 1);
            else
                while (group.waiting() < i)
                    std::this_thread::yield();
        }
        server.open();
        threads.clear();
        std::vector<Answer> all;
        for (auto& answer : answers)
            all.push_back(*std::move(answer));
        return all;
    }

    Server server;
    EnqueueGroup group{[this](std::span<const Specs> calls) { return server.send(calls); }, 1, 100};
};

TEST_F(EnqueueGroupTest, ALoneCallIsSentAtOnce) {
    server.open();
    const std::vector specs{job("a"), job("b")};
    const Answer answer = group.enqueue(specs);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->size(), 2U);
    EXPECT_THAT(server.sizes(), ElementsAre(1));
}

TEST_F(EnqueueGroupTest, CallsThatComeMeanwhileShareTheNextStatement) {
    const auto answers =
        call_while_one_is_under_way({{job("a")}, {job("b"), job("c")}, {job("d")}});
    EXPECT_THAT(server.sizes(), ElementsAre(1, 2));
    EXPECT_EQ(answers[0]->at(0).id.value, 1);
    EXPECT_EQ(answers[1]->at(0).id.value, 2);
    EXPECT_EQ(answers[1]->at(1).id.value, 3);
    EXPECT_EQ(answers[2]->at(0).id.value, 4);
}

TEST_F(EnqueueGroupTest, OneCallersMistakeFailsNobodyElse) {
    const auto answers =
        call_while_one_is_under_way({{job("a")}, {job("b")}, {job("bad")}, {job("c")}});
    EXPECT_THAT(server.sizes(), ElementsAre(1, 3, 1, 1, 1));
    EXPECT_TRUE(answers[1]);
    ASSERT_FALSE(answers[2]);
    EXPECT_EQ(answers[2].error().code, base::ErrorCode::conflict);
    EXPECT_TRUE(answers[3]);
}

TEST_F(EnqueueGroupTest, AnUnknownOutcomeIsEverybodysAndIsNotRepeated) {
    const auto answers = call_while_one_is_under_way({{job("a")}, {job("b")}, {job("cut")}});
    EXPECT_THAT(server.sizes(), ElementsAre(1, 2));
    EXPECT_EQ(answers[1].error().code, base::ErrorCode::outcome_unknown);
    EXPECT_EQ(answers[2].error().code, base::ErrorCode::outcome_unknown);
}

TEST_F(EnqueueGroupTest, WhatIsTooLargeToTravelTogetherGoesNext) {
    const std::vector<domain::JobSpec> large(99, job("a"));
    const auto answers = call_while_one_is_under_way({{job("a")}, large, large, {job("b")}});
    EXPECT_THAT(server.sizes(), ElementsAre(1, 1, 2));
    EXPECT_EQ(answers[3]->at(0).id.value, 200);
}

TEST_F(EnqueueGroupTest, ABulkLoadNeitherWaitsNorHoldsUp) {
    const std::vector<domain::JobSpec> bulk(100, job("a"));
    std::jthread loading([&] { EXPECT_TRUE(group.enqueue(bulk)); });
    server.await_sends(1);
    const auto answers = call_while_one_is_under_way({{job("b")}});
    EXPECT_TRUE(answers[0]);
    EXPECT_EQ(server.most_inside(), 2);
}

TEST(EnqueueGroup, ManyCallersGetEveryIdOnce) {
    Server server;
    server.open();
    EnqueueGroup group([&](std::span<const Specs> calls) { return server.send(calls); }, 2, 100);
    std::mutex mutex;
    std::set<std::int64_t> ids;
    {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 8; ++thread)
            threads.emplace_back([&] {
                for (int i = 0; i < 500; ++i) {
                    const std::vector specs{job("a"), job("b")};
                    const Answer answer = group.enqueue(specs);
                    const std::lock_guard lock(mutex);
                    for (const Enqueued& one : answer.value())
                        ids.insert(one.id.value);
                }
            });
    }
    EXPECT_EQ(ids.size(), 8'000U);
    EXPECT_LE(server.most_inside(), 2);
}

} // namespace
} // namespace deadman::store::postgres
