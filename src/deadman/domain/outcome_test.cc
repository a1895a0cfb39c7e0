// Goal: what the store makes of an answer, and what it costs.

#include "deadman/domain/outcome.h"

#include <limits>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::domain {
namespace {

Answer answer(AnswerKind kind) {
    Answer result;
    result.kind = kind;
    return result;
}

struct Case {
    AnswerKind kind;
    int spent;
    int max;
    Outcome outcome;
    int spent_after;
};

class Decides : public testing::TestWithParam<Case> {};

TEST_P(Decides, OutcomeAndCost) {
    const Case& c = GetParam();
    const Outcome outcome = decide(answer(c.kind), c.spent, c.max, false);
    EXPECT_EQ(outcome, c.outcome) << outcome_name(outcome);
    EXPECT_EQ(spent_after(answer(c.kind), outcome, c.spent), c.spent_after);
}

INSTANTIATE_TEST_SUITE_P(Outcome, Decides,
                         testing::Values(Case{AnswerKind::succeeded, 0, 20, Outcome::succeeded, 1},
                                         Case{AnswerKind::error, 0, 20, Outcome::retry, 1},
                                         Case{AnswerKind::error, 18, 20, Outcome::retry, 19},
                                         Case{AnswerKind::error, 19, 20, Outcome::failed, 20},
                                         Case{AnswerKind::error, 0, 1, Outcome::failed, 1},
                                         Case{AnswerKind::error, 25, 20, Outcome::failed, 26},
                                         Case{AnswerKind::failed, 0, 20, Outcome::failed, 1},
                                         Case{AnswerKind::snooze, 19, 20, Outcome::snooze, 19},
                                         Case{AnswerKind::release, 19, 20, Outcome::release, 19},
                                         Case{AnswerKind::cancelled, 3, 20, Outcome::cancelled,
                                              3}));

TEST(Outcome, AThousandSnoozesSpendNothing) {
    int spent = 0;
    for (int i = 0; i < 1000; ++i)
        spent = spent_after(answer(AnswerKind::snooze),
                            decide(answer(AnswerKind::snooze), spent, 3, false), spent);
    EXPECT_EQ(spent, 0);
    EXPECT_EQ(decide(answer(AnswerKind::error), spent, 3, false), Outcome::retry);
}

TEST(Outcome, ALapseSpendsNothingWhateverTheLateAnswerSaid) {
    EXPECT_EQ(spent_after(answer(AnswerKind::failed), Outcome::lapse, 4), 4);
}

TEST(Outcome, NamesAreDistinctAndReadBack) {
    std::set<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(Outcome::lapse); ++i) {
        const auto outcome = static_cast<Outcome>(i);
        names.insert(outcome_name(outcome));
        EXPECT_EQ(parse_outcome(outcome_name(outcome)), outcome);
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(Outcome::lapse) + 1);
    EXPECT_EQ(parse_outcome("done"), std::nullopt);
    std::set<std::string_view> verdicts;
    for (int i = 0; i <= static_cast<int>(Verdict::fenced); ++i)
        verdicts.insert(verdict_name(static_cast<Verdict>(i)));
    EXPECT_EQ(verdicts.size(), static_cast<std::size_t>(Verdict::fenced) + 1);
}

RC_GTEST_PROP(OutcomeProperty, AnAcceptedCancelWinsOverEveryAnswer, ()) {
    const auto kind = static_cast<AnswerKind>(*rc::gen::inRange(0, 6));
    const int spent = *rc::gen::arbitrary<int>();
    const int max = *rc::gen::positive<int>();
    RC_ASSERT(decide(answer(kind), spent, max, true) == Outcome::cancelled);
}

RC_GTEST_PROP(OutcomeProperty, ARetryMeansThatAttemptsAreLeft, ()) {
    const int max = *rc::gen::inRange(1, 32'001);
    const int spent = *rc::gen::inRange(0, 40'000);
    const Outcome outcome = decide(answer(AnswerKind::error), spent, max, false);
    RC_ASSERT((outcome == Outcome::retry) ==
              (spent_after(answer(AnswerKind::error), outcome, spent) < max));
}

} // namespace
} // namespace deadman::domain
