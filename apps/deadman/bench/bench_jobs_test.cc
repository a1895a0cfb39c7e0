#include "apps/deadman/bench/bench_jobs.h"

#include <gtest/gtest.h>

#include "deadman/domain/payload.h"

namespace deadman::bench {
namespace {

TEST(BenchJobs, PayloadIsJsonOfTheSizeAskedFor) {
    const std::string text = write_payload({.number = 7, .sent_us = 1'700'000'000'000'000}, 100);
    EXPECT_EQ(text.size(), 100U);
    EXPECT_TRUE(domain::validate_payload(text, {}));
}

TEST(BenchJobs, PayloadIsReadAsItWasWritten) {
    const BenchPayload read =
        read_payload(write_payload({.number = 42, .sent_us = 12, .turn = Turn::snooze}, 10));
    EXPECT_EQ(read.number, 42);
    EXPECT_EQ(read.sent_us, 12);
    EXPECT_EQ(read.turn, Turn::snooze);
}

TEST(BenchJobs, PayloadOfSomebodyElseIsNobodysNumber) {
    const BenchPayload read = read_payload(R"({"a":1})");
    EXPECT_EQ(read.number, -1);
    EXPECT_EQ(read.sent_us, 0);
    EXPECT_EQ(read.turn, Turn::none);
}

} // namespace
} // namespace deadman::bench
