#include "deadman/store/postgres/internal/cursors.h"

#include <gtest/gtest.h>

#include "deadman/store/postgres/internal/array_text.h"

namespace deadman::store::postgres {
namespace {

using namespace std::chrono_literals;

base::SteadyTime at(base::Duration since_start) {
    return base::SteadyTime{1h + since_start};
}

TEST(Cursors, AdvanceAndNeverFallBackByThemselves) {
    Cursors cursors;
    cursors.advance({1, 5}, 1, 20);
    cursors.advance({1, 5}, 1, 10);
    cursors.advance({1, 5}, 0, 7);
    EXPECT_EQ(cursors.current().at({1, 5}), (CursorPair{7, 20}));
}

TEST(Cursors, SuspectsAreLookedForFromTheStart) {
    Cursors cursors;
    cursors.advance({1, 5}, 2, 20);
    EXPECT_TRUE(cursors.current().empty());
}

TEST(Cursors, EarlierLiesBetweenOneAndTwoLookBacksBehind) {
    Cursors cursors;
    cursors.earlier(at(0s));
    cursors.advance({1, 5}, 1, 10);
    EXPECT_TRUE(cursors.earlier(at(900ms)).empty());
    cursors.earlier(at(1s)); // 10 is remembered
    cursors.advance({1, 5}, 1, 20);
    EXPECT_TRUE(cursors.earlier(at(1900ms)).empty());
    EXPECT_EQ(cursors.earlier(at(2s)).at({1, 5}).fresh, 10);
    EXPECT_EQ(cursors.earlier(at(2900ms)).at({1, 5}).fresh, 10);
    EXPECT_EQ(cursors.earlier(at(3s)).at({1, 5}).fresh, 20);
}

TEST(Cursors, WakeUpLowersItsQueueOnly) {
    Cursors cursors;
    cursors.advance({1, 5}, 1, 20);
    cursors.advance({2, 5}, 1, 20);
    cursors.lower(1, 15);
    EXPECT_EQ(cursors.current().at({1, 5}).fresh, 14);
    EXPECT_EQ(cursors.current().at({2, 5}).fresh, 20);
}

TEST(Cursors, ChangesAreTakenOnce) {
    Cursors cursors;
    EXPECT_FALSE(cursors.take_changed());
    cursors.advance({1, 5}, 1, 20);
    EXPECT_TRUE(cursors.take_changed());
    EXPECT_FALSE(cursors.take_changed());
}

TEST(ArrayText, QuotesWhatWouldBeReadAsSyntax) {
    ArrayText array;
    array.add("a \"b\" \\ {c},NULL");
    array.add_null();
    array.add_or_null("");
    array.add("");
    EXPECT_EQ(array.take(), R"({"a \"b\" \\ {c},NULL",NULL,NULL,""})");
}

TEST(ArrayText, HoldsNumbersAtTheirBounds) {
    ArrayText array;
    array.add(std::numeric_limits<std::int64_t>::min());
    array.add(true);
    EXPECT_EQ(array.take(), "{-9223372036854775808,t}");
    EXPECT_EQ(array.take(), "{}");
}

TEST(ArrayText, ReadsWhatTheServerWrites) {
    EXPECT_EQ(parse_bigints("{1,-2,9007199254740993}"),
              (std::vector<std::int64_t>{1, -2, 9007199254740993}));
    EXPECT_TRUE(parse_bigints("{}").empty());
    EXPECT_EQ(parse_json_strings(R"(["a","b:\/c","d\"e"])"),
              (std::vector<std::string>{"a", "b:/c", "d\"e"}));
    EXPECT_TRUE(parse_json_strings("[]").empty());
}

} // namespace
} // namespace deadman::store::postgres
