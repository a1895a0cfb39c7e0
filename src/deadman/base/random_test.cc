// Goal: the same seed gives the same numbers everywhere, and the bounds hold.

#include "deadman/base/random.h"

#include <array>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::base {
namespace {

TEST(Random, GivesThePublishedSequenceOfSplitmix64) {
    Random random(1234567);
    EXPECT_EQ(random.next(), 6457827717110365317ULL);
    EXPECT_EQ(random.next(), 3203168211198807973ULL);
    EXPECT_EQ(random.next(), 9817491932198370423ULL);
}

TEST(Random, ChanceOfNothingAndOfCertaintyAreExact) {
    Random random(1);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(random.chance(0.0));
        EXPECT_TRUE(random.chance(1.0));
    }
}

TEST(Random, BelowReachesEveryValueAboutEquallyOften) {
    Random random(7);
    std::array<int, 6> counts{};
    for (int i = 0; i < 60'000; ++i)
        ++counts.at(random.below(6));
    for (const int count : counts)
        EXPECT_NEAR(count, 10'000, 500); // five standard deviations of a fixed seed
}

TEST(Random, HexIsLowerCaseOfTheAskedLengthAndDiffers) {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
        const std::string text = random_hex(16);
        EXPECT_EQ(text.size(), 32U);
        EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
        seen.insert(text);
    }
    EXPECT_EQ(seen.size(), 100U);
}

RC_GTEST_PROP(RandomProperty, StaysBelowTheBound, (std::uint64_t seed)) {
    Random random(seed);
    const auto bound = *rc::gen::suchThat<std::uint64_t>([](auto value) { return value > 0; });
    RC_ASSERT(random.below(bound) < bound);
    const double unit = random.unit();
    RC_ASSERT(unit >= 0.0 && unit < 1.0);
}

RC_GTEST_PROP(RandomProperty, SameSeedSameNumbers, (std::uint64_t seed)) {
    Random one(seed);
    Random other(seed);
    for (int i = 0; i < 20; ++i)
        RC_ASSERT(one.next() == other.next());
}

} // namespace
} // namespace deadman::base
