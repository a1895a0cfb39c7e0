// Goal: what people write is read exactly or refused, and what is printed reads back as the same.

#include "deadman/base/duration_text.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::base {
namespace {

using namespace std::chrono_literals;

struct Case {
    const char* text;
    Duration value;
};

class ReadsDuration : public testing::TestWithParam<Case> {};

TEST_P(ReadsDuration, Exactly) {
    const auto value = parse_duration(GetParam().text);
    ASSERT_TRUE(value.has_value()) << value.error().message;
    EXPECT_EQ(*value, GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    DurationText, ReadsDuration,
    testing::Values(Case{"90s", 90s}, Case{"1500ms", 1500ms}, Case{"5m", 5min},
                    Case{"2h30m", 150min}, Case{"14d", 24h * 14}, Case{"0", 0s}, Case{"0s", 0s},
                    Case{"7us", 7us}, Case{"1d2h3m4s5ms6us", 26h + 3min + 4s + 5ms + 6us},
                    Case{"1.5s", 1500ms}, Case{"0.5h", 30min}, Case{"0.000001s", 1us},
                    Case{"1.50000000000000000000s", 1500ms}, Case{"0.0000000025h", 9us},
                    Case{"2147483648ms", 2147483648ms}, Case{"4294972296ms", 4294972296ms},
                    Case{"36525d", 24h * 36525}, Case{"3652425d", longest_duration}));

class RefusesDuration : public testing::TestWithParam<const char*> {};

TEST_P(RefusesDuration, SayingWhy) {
    const auto value = parse_duration(GetParam());
    ASSERT_FALSE(value.has_value()) << format_duration(*value);
    EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(value.error().message.find("is no duration"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(DurationText, RefusesDuration,
                         testing::Values("", "s", "5", "-5s", "nan", "NaN", "inf", "1e3s", "5 s",
                                         " 5s", "5s ", "5sec", "5S", "5s5s", "5s1m", "1.s", ".5s",
                                         "1..5s", "0.5us", "0.0000001s", "0.00000000000001d",
                                         "3652425d1us", "3652426d", "99999999999999999999d",
                                         "9223372036854775808us", "18446744073709551617us", "+5s",
                                         "0x5s", "5m-3s", "1,5s", "00"));

TEST(DurationText, PrintsTheShortestExactForm) {
    EXPECT_EQ(format_duration(0us), "0s");
    EXPECT_EQ(format_duration(90s), "90s");
    EXPECT_EQ(format_duration(8s), "8s");
    EXPECT_EQ(format_duration(1500ms), "1500ms");
    EXPECT_EQ(format_duration(24h * 14), "14d");
    EXPECT_EQ(format_duration(24h * 10 + 1s), "10d1s");
    EXPECT_EQ(format_duration(-5s), "-5s");
    EXPECT_EQ(format_duration(Duration::min()).front(), '-');
}

RC_GTEST_PROP(DurationTextProperty, PrintedDurationsReadBackAsTheSame, ()) {
    const auto micros = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, longest_duration.count()),
                                        rc::gen::map(rc::gen::inRange<std::int64_t>(0, 1'000'000),
                                                     [](auto n) { return n * 1'000; }),
                                        rc::gen::map(rc::gen::inRange<std::int64_t>(0, 1'000'000),
                                                     [](auto n) { return n * 60'000'000; }));
    const auto back = parse_duration(format_duration(Duration{micros}));
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->count() == micros);
}

RC_GTEST_PROP(DurationTextProperty, AcceptedTextLiesWithinTheBounds, ()) {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123459.dhmsu-e ")));
    const auto value = parse_duration(text);
    if (value) {
        RC_ASSERT(*value >= 0us && *value <= longest_duration);
    }
}

} // namespace
} // namespace deadman::base
