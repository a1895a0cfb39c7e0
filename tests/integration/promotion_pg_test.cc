// A standby that is promoted (PROTOCOL E8).
//
// Goal:   no fence is handed out twice although the standby had not heard of the last ones.
// Method: a primary and a standby that follows it asynchronously. The standby is stopped, the
// primary
//         hands out more fences and is killed, the standby comes back and is promoted.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/postgres_server.h"
#include "tests/support/postgres_store.h"
#include "tests/support/postgres_wire.h"

namespace deadman::test {
namespace {

/// More than the server writes into its log at once: so many a promoted standby skips by itself.
constexpr int logged_ahead = 32;

class Promotion : public testing::Test {
  protected:
    static std::int64_t claim_many(store::JobStore& store, int count) {
        const auto session = open_session(store);
        enqueue(store, count);
        std::int64_t highest = 0;
        for (int no = 1; no <= count; ++no)
            for (const auto& claimed :
                 value(store.claim(session.key, {.claim_no = no, .queues = {"default"}})))
                highest = std::max(highest, claimed.run.fence.value);
        return highest;
    }

    base::SystemClock clock;
    store::PrivateServer primary = value(store::PrivateServer::start(clock));
};

TEST_F(Promotion, HandsOutNoFenceTwice) {
    const auto before = open_store(clock, primary.url());
    value(before->migrate());
    claim_many(*before, 2);
    store::PrivateServerOptions options;
    options.standby_of = primary.url();
    auto standby = value(store::PrivateServer::start(clock, options));
    standby.stop();
    const std::int64_t highest = claim_many(*before, 2 * logged_ahead);
    primary.kill();

    value(standby.start_again());
    PostgresWire c(standby.url());
    EXPECT_EQ(c.one("select pg_is_in_recovery()"), "t");
    const auto after = open_store(clock, standby.url());
    EXPECT_GE(value(after->count_outstanding()), 0) << "it can be asked";
    const domain::JobSpec spec{.kind = "work"};
    EXPECT_EQ(code_of(after->enqueue({&spec, 1})), base::ErrorCode::unavailable)
        << "it takes no writes yet";
    ASSERT_EQ(c.one("select pg_promote()"), "t");
    EXPECT_LT(c.number("select last_value from deadman.fence"), highest)
        << "or this test shows nothing";
    EXPECT_GT(claim_many(*after, 1), highest);
}

} // namespace
} // namespace deadman::test
