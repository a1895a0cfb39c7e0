// Goal: the pill is found and its neighbours are not blamed. Method: tables, then the laws of the
// sums.

#include "deadman/domain/blame.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::domain {
namespace {

constexpr Lapse started_in_company{.named_started = true};
constexpr Lapse bystander{};
constexpr Lapse started_alone{.named_started = true, .alone = true};

TEST(Blame, ALapseInAGraceOrAfterSelfFencingCountsNothing) {
    const Blame before{.lapse_score = 5, .crashes = 2};
    EXPECT_EQ(after_lapse(before, {.counts = false, .named_started = true, .alone = true}), before);
}

TEST(Blame, AStartedRunIsAccusedMoreThanABystander) {
    EXPECT_EQ(after_lapse({}, started_in_company), (Blame{.lapse_score = 3}));
    EXPECT_EQ(after_lapse({}, bystander), (Blame{.lapse_score = 1}));
}

TEST(Blame, OnlyASuspectThatDiesAloneWaitsAndLongerEachTime) {
    using namespace std::chrono_literals;
    const CrashTerms terms{.max_crashes = 0, .first_delay = 2s};
    const auto delay = [&](int score, int crashes, const Lapse& lapse) {
        return delay_after_lapse({.lapse_score = score, .crashes = crashes}, lapse, terms);
    };
    EXPECT_EQ(delay(3, 1, started_alone), 0s) << "one death proves nothing";
    EXPECT_EQ(delay(6, 0, started_in_company), 0s);
    EXPECT_EQ(delay(9, 1, {.counts = false, .alone = true}), 0s);
    EXPECT_EQ(delay(6, 1, started_alone), 2s);
    EXPECT_EQ(delay(9, 2, started_alone), 4s);
    EXPECT_EQ(delay(12, 3, started_alone), 8s);
    EXPECT_EQ(delay(99, std::numeric_limits<int>::max(), started_alone), max_crash_delay);
    EXPECT_EQ(delay_after_lapse({99, 99}, started_alone, {.first_delay = {}}), 0s);
}

TEST(Blame, ASecondLapseOfAStartedRunMakesASuspect) {
    Blame blame = after_lapse({}, started_in_company);
    EXPECT_FALSE(is_suspect(blame));
    blame = after_lapse(blame, started_in_company);
    EXPECT_TRUE(is_suspect(blame));
    EXPECT_EQ(blame.crashes, 0);
}

TEST(Blame, ABystanderTakesSixLapses) {
    Blame blame;
    for (int i = 0; i < 5; ++i)
        blame = after_lapse(blame, bystander);
    EXPECT_FALSE(is_suspect(blame));
    EXPECT_TRUE(is_suspect(after_lapse(blame, bystander)));
}

TEST(Blame, OnlyADeathAloneIsACrashAndNamedOrNotMakesNoDifference) {
    EXPECT_EQ(after_lapse({}, started_alone).crashes, 1);
    EXPECT_EQ(after_lapse({}, {.named_started = false, .alone = true}).crashes, 1);
    EXPECT_EQ(after_lapse({}, started_in_company).crashes, 0);
}

TEST(Blame, QuarantineAtTheThirdCrashByDefaultAndNeverAtZero) {
    Blame blame;
    for (int i = 0; i < 2; ++i)
        blame = after_lapse(blame, started_alone);
    EXPECT_FALSE(is_quarantined(blame, {.max_crashes = default_max_crashes}));
    blame = after_lapse(blame, started_alone);
    EXPECT_TRUE(is_quarantined(blame, {.max_crashes = default_max_crashes}));
    EXPECT_FALSE(is_quarantined(blame, {.max_crashes = 4}));
    EXPECT_FALSE(is_quarantined(blame, {.max_crashes = 0}));
}

TEST(Blame, NeverWrapsRoundIntoInnocence) {
    const int most = std::numeric_limits<int>::max();
    const Blame blame = after_lapse({.lapse_score = most - 1, .crashes = most}, started_alone);
    EXPECT_TRUE(is_suspect(blame));
    EXPECT_TRUE(is_quarantined(blame, {.max_crashes = default_max_crashes}));
}

RC_GTEST_PROP(BlameProperty, NeverFallsAndADeathInCompanyIsNeverACrash, ()) {
    Blame blame{.lapse_score = *rc::gen::inRange(0, 1000), .crashes = *rc::gen::inRange(0, 100)};
    const int count = *rc::gen::inRange(0, 50);
    for (int i = 0; i < count; ++i) {
        const Lapse lapse{.counts = *rc::gen::arbitrary<bool>(),
                          .named_started = *rc::gen::arbitrary<bool>(),
                          .alone = *rc::gen::arbitrary<bool>()};
        const Blame next = after_lapse(blame, lapse);
        RC_ASSERT(next.lapse_score >= blame.lapse_score);
        RC_ASSERT(next.crashes - blame.crashes == (lapse.counts && lapse.alone ? 1 : 0));
        RC_ASSERT(is_suspect(next) || !is_suspect(blame));
        blame = next;
    }
}

} // namespace
} // namespace deadman::domain
