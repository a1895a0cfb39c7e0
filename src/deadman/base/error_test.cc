// Goal: an error code has one stable name, and a Result carries either a value or an Error.

#include "deadman/base/error.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "deadman/base/result.h"

namespace deadman::base {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0)
        return fail(ErrorCode::invalid_argument, "odd");
    return value / 2;
}

Result<int> quarter(int value) {
    DEADMAN_TRY(const int once, half(value));
    return half(once);
}

TEST(ErrorCode, NamesAreDistinct) {
    std::set<std::string> names;
    for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code)
        names.emplace(error_code_name(static_cast<ErrorCode>(code)));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::internal) + 1);
}

TEST(Result, TryReturnsTheFirstError) {
    EXPECT_EQ(quarter(8).value(), 2);
    EXPECT_EQ(quarter(6).error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(quarter(3).error().message, "odd");
}

} // namespace
} // namespace deadman::base
