// Goal: times come out as RFC 3339 in UTC, to the microsecond, also before 1970 and on leap days.

#include "deadman/base/time_text.h"

#include <gtest/gtest.h>

namespace deadman::base {
namespace {

TEST(TimeText, PrintsUtcToTheMicrosecond) {
    EXPECT_EQ(format_rfc3339(from_micros(0)), "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(format_rfc3339(from_micros(-1)), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(format_rfc3339(from_micros(1'709'208'000'000'123)), "2024-02-29T12:00:00.000123Z");
    EXPECT_EQ(format_rfc3339(from_micros(253'402'300'799'999'999)), "9999-12-31T23:59:59.999999Z");
}

} // namespace
} // namespace deadman::base
