// Goal: the times by which workers stop lie before those at which others take over.

#include "deadman/domain/lease_terms.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace deadman::domain {
namespace {

using namespace std::chrono_literals;

TEST(LeaseTerms, DefaultsAreThoseOfTheDesign) {
    const LeaseTerms terms;
    EXPECT_EQ(cancel_after(terms), 5s);
    EXPECT_EQ(leave_after(terms), 7500ms);
    EXPECT_EQ(cancel_after_with_hints(terms), 1500ms);
    EXPECT_EQ(outage_gap(terms), 3s);
}

TEST(LeaseTerms, ScalingToTheDefaultLeaseGivesTheDefaults) {
    const LeaseTerms terms;
    const LeaseTerms scaled = LeaseTerms::scaled_to(terms.lease);
    EXPECT_EQ(scaled.heartbeat, terms.heartbeat);
    EXPECT_EQ(scaled.sweep, terms.sweep);
    EXPECT_EQ(scaled.hint_heartbeat, terms.hint_heartbeat);
    EXPECT_EQ(scaled.hint_grace, terms.hint_grace);
}

TEST(LeaseTerms, AHintGraceShorterThanItsHeartbeatLeavesNoTrustAtAll) {
    const LeaseTerms terms{.hint_heartbeat = 2s, .hint_grace = 1s};
    EXPECT_EQ(cancel_after_with_hints(terms), 0s);
}

TEST(LeaseTerms, RefusesTermsUnderWhichAShortOutageWouldReapTheLiving) {
    EXPECT_TRUE(validate_terms(LeaseTerms{}).has_value());
    EXPECT_TRUE(validate_terms(LeaseTerms::scaled_to(2s)).has_value());
    EXPECT_FALSE(validate_terms(LeaseTerms{.sweep = 2s}).has_value());
    EXPECT_FALSE(validate_terms(LeaseTerms{.heartbeat = 5s}).has_value());
    EXPECT_FALSE(validate_terms(LeaseTerms{.lease = 100ms}).has_value());
    EXPECT_FALSE(validate_terms(LeaseTerms{.hint_grace = 500ms}).has_value());
}

RC_GTEST_PROP(LeaseTermsProperty, AHolderStopsBeforeAnyoneMayTakeOver, ()) {
    const auto lease = base::Duration{*rc::gen::inRange<std::int64_t>(160, 3'600'000'000)};
    const LeaseTerms terms = LeaseTerms::scaled_to(lease);
    RC_ASSERT(terms.heartbeat * 2 <= cancel_after(terms));
    RC_ASSERT(cancel_after(terms) < leave_after(terms));
    RC_ASSERT(leave_after(terms) < terms.lease);
    RC_ASSERT(cancel_after_with_hints(terms) < terms.hint_grace);
    RC_ASSERT(cancel_after_with_hints(terms) <= cancel_after(terms));
    RC_ASSERT(outage_gap(terms) + terms.heartbeat < terms.lease);
}

} // namespace
} // namespace deadman::domain
