// Goal: delays grow as said, stop at the cap, are never shortened by jitter, and never wrap (case
// C55).

#include "deadman/domain/retry_policy.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "deadman/domain/duration_text.h"

namespace deadman::domain {
namespace {

using base::Duration;
using Kind = RetryPolicy::Kind;
using namespace std::chrono_literals;

constexpr double just_below_one = 0.9999999999999999;

TEST(RetryPolicy, GrowsAsItsKindSays) {
    const RetryPolicy exponential{.kind = Kind::exponential, .base = 1s, .cap = 1h, .jitter = 0};
    const RetryPolicy linear{.kind = Kind::linear, .base = 10s, .cap = 1min, .jitter = 0};
    const RetryPolicy fixed{.kind = Kind::fixed, .base = 7s, .cap = 1h, .jitter = 0};
    EXPECT_EQ(exponential.delay(1, 0), 1s);
    EXPECT_EQ(exponential.delay(2, 0), 2s);
    EXPECT_EQ(exponential.delay(12, 0), 2048s);
    EXPECT_EQ(exponential.delay(13, 0), 1h);
    EXPECT_EQ(linear.delay(1, 0), 10s);
    EXPECT_EQ(linear.delay(6, 0), 1min);
    EXPECT_EQ(linear.delay(7, 0), 1min);
    EXPECT_EQ(fixed.delay(1, 0), 7s);
    EXPECT_EQ(fixed.delay(1000, 0), 7s);
}

TEST(RetryPolicy, HighAttemptsStayBetweenTheCapAndAQuarterMore) {
    const RetryPolicy policy{.base = 2s, .cap = 1h};
    for (const int attempt : {70, 300, 900, 1000, std::numeric_limits<int>::max()})
        for (const double unit : {0.0, 0.5, just_below_one}) {
            const Duration delay = policy.delay(attempt, unit);
            EXPECT_GE(delay, 1h) << attempt;
            EXPECT_LE(delay, 75min) << attempt;
        }
}

TEST(RetryPolicy, ABaseOfZeroStaysZeroAndACapBelowTheBaseWins) {
    for (const Kind kind : {Kind::exponential, Kind::linear, Kind::fixed}) {
        const RetryPolicy none{.kind = kind, .base = 0s};
        EXPECT_EQ(none.delay(900, just_below_one), 0s);
        const RetryPolicy low{.kind = kind, .base = 1min, .cap = 10s};
        EXPECT_EQ(low.delay(1, 0), 10s);
        EXPECT_LE(low.delay(900, just_below_one), 12500ms);
    }
}

TEST(RetryPolicy, JitterSpreadsOverAllOfItsShare) {
    const RetryPolicy policy{.kind = Kind::fixed, .base = 60s, .cap = 1h};
    EXPECT_EQ(policy.delay(1, 0.0), 60s);
    EXPECT_EQ(policy.delay(1, 0.5), 67500ms);
    EXPECT_GT(policy.delay(1, just_below_one), 74999ms);
    EXPECT_LE(policy.delay(1, just_below_one), 75s);
}

TEST(RetryPolicy, NonsenseFromOutsideGivesAnOrdinaryDelay) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    RetryPolicy policy{.base = 1s, .cap = 1h, .jitter = nan};
    EXPECT_EQ(policy.delay(1, 0.9), 1s);
    EXPECT_EQ(policy.delay(-5, nan), 1s);
    policy = {.base = -1s, .cap = -1h};
    EXPECT_EQ(policy.delay(3, 0.9), 0s);
    policy = {.base = Duration::max(), .cap = Duration::max(), .jitter = 1e300};
    EXPECT_EQ(policy.delay(3, 0.9), Duration::max());
}

RC_GTEST_PROP(RetryPolicyProperty, DelayLiesBetweenTheCappedGrowthAndItsJitter, ()) {
    const auto most = longest_duration.count();
    const RetryPolicy policy{
        .kind = *rc::gen::element(Kind::exponential, Kind::linear, Kind::fixed),
        .base = Duration{*rc::gen::inRange<std::int64_t>(0, most)},
        .cap = Duration{*rc::gen::inRange<std::int64_t>(0, most)},
        .jitter = *rc::gen::map(rc::gen::inRange(0, 1001), [](int n) { return n / 1000.0; })};
    const int attempt = *rc::gen::oneOf(rc::gen::inRange(1, 80), rc::gen::positive<int>());
    const double unit = *rc::gen::map(rc::gen::inRange(0, 1000), [](int n) { return n / 1000.0; });

    const Duration least = policy.delay(attempt, 0);
    const Duration delay = policy.delay(attempt, unit);
    RC_ASSERT(least >= 0us && least <= policy.cap);
    RC_ASSERT(delay >= least);
    const auto spread = static_cast<double>((delay - least).count());
    RC_ASSERT(spread <= static_cast<double>(least.count()) * policy.jitter);
    RC_ASSERT(policy.delay(attempt == std::numeric_limits<int>::max() ? attempt : attempt + 1, 0) >=
              least);
}

TEST(RetryPolicyText, LaterPartsMayBeLeftOut) {
    EXPECT_EQ(parse_retry_policy("exponential").value(), RetryPolicy{});
    EXPECT_EQ(parse_retry_policy("fixed:5s").value(),
              (RetryPolicy{.kind = Kind::fixed, .base = 5s}));
    EXPECT_EQ(parse_retry_policy("linear:5s:1m:0").value(),
              (RetryPolicy{.kind = Kind::linear, .base = 5s, .cap = 1min, .jitter = 0}));
    EXPECT_EQ(format_retry_policy(RetryPolicy{}), "exponential:1s:1h:0.25");
}

TEST(RetryPolicyText, RefusesWhatIsNone) {
    for (const char* text :
         {"", "expo", "exponential:", "fixed:-1s", "fixed:1s:nan",
          "fixed:1s:1h:", "fixed:1s:1h:nan", "fixed:1s:1h:inf", "fixed:1s:1h:-0.1",
          "fixed:1s:1h:1.5", "fixed:1s:1h:0.5:x", "fixed:1s:1h:0.5x", "fixed:1s:99999999d"}) {
        const auto policy = parse_retry_policy(text);
        ASSERT_FALSE(policy.has_value()) << text;
        EXPECT_EQ(policy.error().code, base::ErrorCode::invalid_argument) << text;
    }
}

RC_GTEST_PROP(RetryPolicyTextProperty, PrintedPoliciesReadBackAsTheSame, ()) {
    const auto most = longest_duration.count() + 1;
    const RetryPolicy policy{
        .kind = *rc::gen::element(Kind::exponential, Kind::linear, Kind::fixed),
        .base = Duration{*rc::gen::inRange<std::int64_t>(0, most)},
        .cap = Duration{*rc::gen::inRange<std::int64_t>(0, most)},
        .jitter = *rc::gen::map(rc::gen::inRange(0, 10'001), [](int n) { return n / 10'000.0; })};
    RC_ASSERT(parse_retry_policy(format_retry_policy(policy)).value() == policy);
}

} // namespace
} // namespace deadman::domain
