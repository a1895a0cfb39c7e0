// Goal: a query means what it says, and a cursor is good for its own filter only. Method: tables;
// each byte of a cursor changed once.

#include "deadman/http/job_listing.h"

#include <gtest/gtest.h>

#include "deadman/domain/time_words.h"

namespace deadman::http {
namespace {

const base::TimePoint noon = *domain::parse_rfc3339("2026-03-05T12:00:00Z");
const JobListings listings("a key");

TEST(JobListing, ReadsTheFilter) {
    const auto listing = listings.read("state=failed&state=cancelled,failed&kind=a&queue=b%2Fc&"
                                       "limit=7&finished=yesterday&created=-2h",
                                       noon);
    ASSERT_TRUE(listing);
    const store::JobFilter& filter = listing->filter;
    EXPECT_EQ(filter.states, (std::vector{domain::JobState::failed, domain::JobState::cancelled}));
    EXPECT_EQ(filter.kind, "a");
    EXPECT_EQ(filter.queue, "b/c");
    EXPECT_EQ(filter.limit, 7);
    EXPECT_EQ(filter.finished_from, noon - std::chrono::hours(36));
    EXPECT_EQ(filter.finished_until, noon - std::chrono::hours(12));
    EXPECT_EQ(filter.created_from, noon - std::chrono::hours(2));
    EXPECT_FALSE(filter.created_until);
}

TEST(JobListing, WordsAreInTheCallersZone) {
    for (const char* offset : {"%2B02:00", "+02:00"}) {
        const auto listing =
            listings.read("finished=today&utc_offset=" + std::string(offset), noon);
        ASSERT_TRUE(listing);
        EXPECT_EQ(listing->filter.finished_from, noon - std::chrono::hours(14));
    }
}

TEST(JobListing, ACursorGoesOnInTheSameWindow) {
    const auto first = *listings.read("created=-2h&limit=5", noon);
    const std::string cursor = listings.cursor(first, {noon, domain::JobId{1L << 62U}});
    const auto later =
        listings.read("created=-2h&limit=9&cursor=" + cursor, noon + std::chrono::hours(1));
    ASSERT_TRUE(later);
    EXPECT_EQ(later->filter.created_from, first.filter.created_from);
    EXPECT_EQ(later->filter.after->id.value, 1L << 62U);
    EXPECT_EQ(later->filter.after->at, noon);
    EXPECT_EQ(later->filter.limit, 9);
}

TEST(JobListing, ACursorOfAnotherFilterIsRefused) {
    const std::string cursor =
        listings.cursor(*listings.read("kind=a", noon), {noon, domain::JobId{1}});
    for (const char* filter :
         {"kind=b", "state=failed", "kind=a&queue=q", "kind=a&created=today"}) {
        const auto refused = listings.read(std::string(filter) + "&cursor=" + cursor, noon);
        ASSERT_FALSE(refused) << filter;
        EXPECT_EQ(refused.error().status, 400);
        EXPECT_EQ(refused.error().code, "invalid_cursor");
    }
    EXPECT_FALSE(JobListings("another key").read("kind=a&cursor=" + cursor, noon));
}

TEST(JobListing, ACursorThatWasChangedAnywhereIsRefused) {
    const std::string cursor = listings.cursor(*listings.read("", noon), {noon, domain::JobId{1}});
    ASSERT_TRUE(listings.read("cursor=" + cursor, noon));
    for (std::size_t at = 0; at < cursor.size(); ++at) {
        std::string changed = cursor;
        changed[at] = changed[at] == 'A' ? 'B' : 'A';
        EXPECT_FALSE(listings.read("cursor=" + changed, noon)) << at;
    }
    EXPECT_FALSE(listings.read("cursor=" + cursor + "A", noon));
    EXPECT_FALSE(listings.read("cursor=", noon));
}

} // namespace
} // namespace deadman::http
