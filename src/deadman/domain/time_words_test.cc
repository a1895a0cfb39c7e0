// Goal: the words mean what people mean by them, in the caller's zone. Method: tables, against a
// Thursday half past nine UTC.

#include "deadman/domain/time_words.h"

#include <gtest/gtest.h>

#include "deadman/base/random.h"
#include "deadman/base/time_text.h"

namespace deadman::domain {
namespace {

using base::Duration;
using base::TimePoint;
using std::chrono::hours;

const TimePoint thursday = *parse_rfc3339("2026-03-05T09:30:00Z");

std::string shown(const base::Result<TimeRange>& range) {
    if (!range)
        return "refused";
    return (range->from ? base::format_rfc3339(*range->from) : "") + " " +
           (range->until ? base::format_rfc3339(*range->until) : "");
}

struct Row {
    const char* text;
    const char* from;
    const char* until;
    Duration utc_offset{};
};

std::string expected(const Row& row) {
    const auto whole = [](const std::string& text) {
        return text.empty() || text.ends_with('Z') ? text : text + ":00.000000Z";
    };
    return whole(row.from) + " " + whole(row.until);
}

class TimeWords : public testing::TestWithParam<Row> {};

TEST_P(TimeWords, CoverWhatTheyName) {
    const Row& row = GetParam();
    EXPECT_EQ(shown(parse_time_range(row.text, thursday, row.utc_offset)), expected(row))
        << row.text;
}

INSTANTIATE_TEST_SUITE_P(
    Days, TimeWords,
    testing::Values(Row{"today", "2026-03-05T00:00", "2026-03-06T00:00"},
                    Row{"yesterday", "2026-03-04T00:00", "2026-03-05T00:00"},
                    Row{"Yesterday ", "2026-03-04T00:00", "2026-03-05T00:00"},
                    Row{"tomorrow", "2026-03-06T00:00", "2026-03-07T00:00"},
                    Row{"tuesday", "2026-03-03T00:00", "2026-03-04T00:00"},
                    Row{"TUE", "2026-03-03T00:00", "2026-03-04T00:00"},
                    Row{"thursday", "2026-03-05T00:00", "2026-03-06T00:00"},
                    Row{"friday", "2026-02-27T00:00", "2026-02-28T00:00"},
                    Row{"last tuesday", "2026-03-03T00:00", "2026-03-04T00:00"},
                    Row{"last-thursday", "2026-02-26T00:00", "2026-02-27T00:00"},
                    Row{"2026-02-28", "2026-02-28T00:00", "2026-03-01T00:00"},
                    Row{"2024-02-29", "2024-02-29T00:00", "2024-03-01T00:00"},
                    Row{"2026-12", "2026-12-01T00:00", "2027-01-01T00:00"},
                    Row{"2026", "2026-01-01T00:00", "2027-01-01T00:00"}));

INSTANTIATE_TEST_SUITE_P(
    Times, TimeWords,
    testing::Values(Row{"now", "2026-03-05T09:30", ""}, Row{"-2h", "2026-03-05T07:30", ""},
                    Row{"2h ago", "2026-03-05T07:30", ""}, Row{"-1d12h", "2026-03-03T21:30", ""},
                    Row{"-3000000d", "1970-01-01T00:00", ""},
                    Row{"2026-03-01T09:30", "2026-03-01T09:30", "2026-03-01T09:31"},
                    Row{"2026-03-01 09:30", "2026-03-01T09:30", "2026-03-01T09:31"},
                    Row{"2026-03-01t09:30:15z", "2026-03-01T09:30:15.000000Z",
                        "2026-03-01T09:30:16.000000Z"},
                    Row{"2026-03-01T09:30:15.25+02:00", "2026-03-01T07:30:15.250000Z",
                        "2026-03-01T07:30:15.250001Z"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, TimeWords,
    testing::Values(Row{"monday..wednesday", "2026-03-02T00:00", "2026-03-05T00:00"},
                    Row{"friday..monday", "2026-02-27T00:00", "2026-03-03T00:00"},
                    Row{"tuesday..monday", "2026-02-24T00:00", "2026-03-03T00:00"},
                    Row{"2026-03-01..2026-03-03", "2026-03-01T00:00", "2026-03-04T00:00"},
                    Row{"2026-03-01T10:00..2026-03-01T11:00", "2026-03-01T10:00",
                        "2026-03-01T11:00"},
                    Row{"-2h..-1h", "2026-03-05T07:30", "2026-03-05T08:30"},
                    Row{"yesterday..now", "2026-03-04T00:00", "2026-03-05T09:30"},
                    Row{"tuesday..", "2026-03-03T00:00", ""},
                    Row{"..tuesday", "", "2026-03-04T00:00"},
                    Row{" monday .. -1h ", "2026-03-02T00:00", "2026-03-05T08:30"}));

INSTANTIATE_TEST_SUITE_P(
    Zones, TimeWords,
    testing::Values(Row{"today", "2026-03-04T15:00", "2026-03-05T15:00", -hours(15)},
                    Row{"yesterday", "2026-03-03T10:00", "2026-03-04T10:00", hours(14)},
                    Row{"tuesday", "2026-03-02T22:00", "2026-03-03T22:00", hours(2)},
                    Row{"2026-03-01T09:30", "2026-03-01T07:30", "2026-03-01T07:31", hours(2)},
                    Row{"2026-03-01T09:30Z", "2026-03-01T09:30", "2026-03-01T09:31", hours(2)},
                    Row{"-2h", "2026-03-05T07:30", "", hours(2)}));

TEST(TimeWordsRefusal, NamesWhatIsAllowed) {
    for (const char* text : {"",
                             "..",
                             "tuesda",
                             "-",
                             "-2",
                             "2h",
                             "--2h",
                             "- 2h",
                             "-2h..-3h",
                             "today..yesterday",
                             "2026-02-29",
                             "2026-13",
                             "2026-00",
                             "2026-1-1",
                             "2026-01-00",
                             "2026-01-01T24:00",
                             "2026-01-01T09",
                             "2026-01-01T09:60",
                             "2026-01-01T09:30:60",
                             "2026-01-01T09:30:00.",
                             "2026-01-01T09:30:00+19:00",
                             "2026-01-01T09:30:00 Z",
                             "10000-01-01",
                             "NaN",
                             "last",
                             "last ",
                             "a..b",
                             "now..now",
                             "1969",
                             "\xff\xfe"}) {
        const auto range = parse_time_range(text, thursday, {});
        ASSERT_FALSE(range) << text << " -> " << shown(range);
        EXPECT_EQ(range.error().code, base::ErrorCode::invalid_argument);
    }
    EXPECT_NE(parse_time_range("tuesda", thursday, {}).error().message.find("try tuesday"),
              std::string::npos);
}

TEST(TimeWordsRefusal, NoTextCrashesIt) {
    const auto seed = base::random_seed();
    base::Random random(seed);
    const std::string alphabet = "0123456789-+:.tTzZ lasmondyhr\xff";
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (auto length = random.below(24); length > 0; --length)
            text += alphabet[random.below(alphabet.size())];
        const auto range = parse_time_range(text, thursday, hours(random.below(36)) - hours(18));
        if (!range || !range->from || !range->until)
            continue;
        EXPECT_LT(*range->from, *range->until) << "seed " << seed << " text " << text;
    }
}

/// By a Thursday, 09:30.
std::string due(const char* text) {
    const auto time = parse_due_time(text, thursday, {});
    return time ? base::format_rfc3339(*time) : "refused";
}

TEST(DueTime, IsTheBeginningOfThePeriod) {
    EXPECT_EQ(due("tomorrow"), "2026-03-06T00:00:00.000000Z");
    EXPECT_EQ(due("+2h"), "2026-03-05T11:30:00.000000Z");
    EXPECT_EQ(due("in 2h"), "2026-03-05T11:30:00.000000Z");
    EXPECT_EQ(due("now"), "2026-03-05T09:30:00.000000Z");
    EXPECT_EQ(due("2026-03-07"), "2026-03-07T00:00:00.000000Z");
    EXPECT_EQ(due("9999-12-31T23:59:59Z"), "9999-12-31T23:59:59.000000Z");
    EXPECT_EQ(due("9999-12-31T23:59:59-01:00"), "refused");
    EXPECT_EQ(due("+3652425d"), "refused");
    EXPECT_EQ(due("monday..tuesday"), "refused");
}

TEST(DueTime, WeekdaysLookForward) {
    EXPECT_EQ(due("friday"), "2026-03-06T00:00:00.000000Z");
    EXPECT_EQ(due("tue"), "2026-03-10T00:00:00.000000Z");
    EXPECT_EQ(due("wednesday"), "2026-03-11T00:00:00.000000Z");
    EXPECT_EQ(due("thursday"), "2026-03-12T00:00:00.000000Z") << "today's has begun";
}

TEST(DueTime, WhatCanOnlyBeMeantForThePastIsRefused) {
    for (const char* text :
         {"yesterday", "today", "last tuesday", "-2h", "2h ago", "2026-03-05", "2026-03", "2026"})
        EXPECT_EQ(due(text), "refused") << text;
    EXPECT_EQ(due("2026-03-05T09:29:00Z"), "2026-03-05T09:29:00.000000Z")
        << "a program may have been late";
}

TEST(Rfc3339, WantsAllOfIt) {
    const auto micros = [](const char* text) {
        const auto time = parse_rfc3339(text);
        return time ? base::to_micros(*time) : -1;
    };
    EXPECT_EQ(micros("1970-01-01T00:00:00Z"), 0);
    EXPECT_EQ(micros("1970-01-01T00:00:00.000001Z"), 1);
    EXPECT_EQ(micros("1970-01-01T00:00:00.123456789Z"), 123'456);
    EXPECT_EQ(micros("1970-01-01T02:00:00+02:00"), 0);
    EXPECT_EQ(base::to_micros(*parse_rfc3339("9999-12-31T23:59:59.999999Z")),
              253'402'300'799'999'999);
    for (const char* text :
         {"", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00Z", "1970-02-30T00:00:00Z",
          "10000-01-01T00:00:00Z", "now", "1970-01-01T00:00:00Zz", "1970-01-01T00:00:00.Z"})
        EXPECT_EQ(micros(text), -1) << text;
}

TEST(UtcOffset, ReadsTheUsualForms) {
    EXPECT_EQ(*parse_utc_offset("Z"), Duration{});
    EXPECT_EQ(*parse_utc_offset("+02:00"), hours(2));
    EXPECT_EQ(*parse_utc_offset("+2"), hours(2));
    EXPECT_EQ(*parse_utc_offset("-0330"), -hours(3) - std::chrono::minutes(30));
    for (const char* text : {"", "2", "+", "+02:60", "+19:00", "+02:00x", "UTC"})
        EXPECT_FALSE(parse_utc_offset(text)) << text;
}

TEST(TimeRangeText, IsReadBackInAnyZone) {
    const auto range = *parse_time_range("monday..wednesday", thursday, hours(2));
    EXPECT_EQ(*parse_time_range(format_time_range(range), {}, -hours(7)), range);
    EXPECT_EQ(format_time_range({range.from, {}}), "2026-03-01T22:00:00.000000Z..");
    EXPECT_EQ(format_time_range({{}, range.until}), "..2026-03-04T22:00:00.000000Z");
}

} // namespace
} // namespace deadman::domain
