#include <gtest/gtest.h>

#include "apps/deadman/bench/plans.h"

namespace deadman::bench {
namespace {

TEST(PlanLog, ScansAreFoundAtAnyDepthWithTheRowsThatTheyRead) {
    const auto plans = read_plans(
        "2026-01-01 UTC [1] LOG:  checkpoint\n"
        "2026-01-01 UTC [1] LOG:  duration: 0.1 ms  plan:\n"
        "\t{\"Query Text\": \"select 1\", \"Plan\": {\"Node Type\": \"Nested Loop\", \"Plans\": [\n"
        "\t {\"Node Type\": \"Seq Scan\", \"Relation Name\": \"job\", \"Actual Rows\": 3,\n"
        "\t  \"Rows Removed by Filter\": 4, \"Actual Loops\": 2},\n"
        "\t {\"Node Type\": \"Index Scan\", \"Relation Name\": \"ready\", \"Index Name\": \"r\",\n"
        "\t  \"Actual Rows\": 1, \"Actual Loops\": 5}]}}\n"
        "2026-01-01 UTC [1] CONTEXT:  a function\n");
    ASSERT_EQ(plans.size(), 1U);
    ASSERT_EQ(plans[0].size(), 2U);
    EXPECT_EQ(plans[0][0].node, "Seq Scan");
    EXPECT_DOUBLE_EQ(plans[0][0].rows, 14);
    EXPECT_EQ(plans[0][1].index, "r");
    EXPECT_DOUBLE_EQ(plans[0][1].rows, 5);
}

TEST(PlanLog, TextThatIsNoPlanIsPassedOver) {
    EXPECT_TRUE(read_plans("").empty());
    EXPECT_TRUE(read_plans("LOG:  duration: 1 ms  plan:\n\t{ broken\nLOG: x\n").empty());
}

} // namespace
} // namespace deadman::bench
