#include "apps/deadman/bench/samples.h"

#include <gtest/gtest.h>

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;

TEST(Samples, RankIsTheNearestOneWhateverTheOrder) {
    std::vector<base::Duration> samples;
    for (int ms = 100; ms >= 1; --ms)
        samples.push_back(std::chrono::milliseconds(ms));
    const Spread spread = spread_of(samples);
    EXPECT_EQ(spread.count, 100U);
    EXPECT_DOUBLE_EQ(spread.p50_ms, 50);
    EXPECT_DOUBLE_EQ(spread.p95_ms, 95);
    EXPECT_DOUBLE_EQ(spread.p99_ms, 99);
    EXPECT_DOUBLE_EQ(spread.max_ms, 100);
}

TEST(Samples, NoneIsZerosAndOneIsItself) {
    EXPECT_DOUBLE_EQ(spread_of({}).p50_ms, 0);
    const Spread one = spread_of({7ms});
    EXPECT_DOUBLE_EQ(one.p50_ms, 7);
    EXPECT_DOUBLE_EQ(one.p99_ms, 7);
}

TEST(Samples, JsonNeverHoldsWhatIsNoNumber) {
    EXPECT_EQ(decimal(0.0 / 1.0, 2), "0.00");
    EXPECT_EQ(decimal(std::numeric_limits<double>::quiet_NaN(), 2), "0");
    EXPECT_EQ(decimal(std::numeric_limits<double>::infinity(), 2), "0");
    EXPECT_EQ(spread_json(spread_of({1500us})),
              R"({"n":1,"p50_ms":1.500,"p95_ms":1.500,"p99_ms":1.500,"max_ms":1.500})");
}

TEST(Samples, ThousandsAreSeparated) {
    EXPECT_EQ(thousands(0), "0");
    EXPECT_EQ(thousands(999.4), "999");
    EXPECT_EQ(thousands(1000), "1,000");
    EXPECT_EQ(thousands(1234567.6), "1,234,568");
}

TEST(Samples, NothingPerNoTimeIsZero) {
    EXPECT_DOUBLE_EQ(per_second(10, base::Duration{}), 0);
    EXPECT_DOUBLE_EQ(per_second(10, 2s), 5);
}

} // namespace
} // namespace deadman::bench
