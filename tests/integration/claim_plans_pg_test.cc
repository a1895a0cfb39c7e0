// Goal: what a claim reads follows what it takes, not what waits: no plan reads a table from the
// start. Method: many rows, fresh statistics (which is when such plans look cheap), and the
// server's own count of rows read within the transaction.

#include "tests/support/claim_protocol.h"

namespace deadman::test {
namespace {

constexpr int many = 5'000;

class ClaimPlans : public ClaimProtocol {
  protected:
    /// Rows of the table that the statement read by going through all of it.
    std::int64_t read_through(const std::string& table, const std::string& statement) {
        c.run("begin");
        c.run(statement);
        const std::string rows = c.one("select seq_tup_read from pg_stat_xact_user_tables where "
                                       "schemaname = 'deadman' and relname = '" +
                                       table + "'");
        c.run("rollback");
        return std::stoll(rows);
    }
};

TEST_F(ClaimPlans, AClaimFromALongQueueReadsNoTableThrough) {
    const auto s = session();
    enqueue(c, many);
    c.run("analyze");
    EXPECT_EQ(read_through("ready", claim_sql(s, 1, 100)), 0);
}

TEST_F(ClaimPlans, AClaimBehindTheLastTicketReadsNoTableThrough) {
    const auto s = session();
    enqueue(c, many);
    c.run("analyze");
    const WireCursor end{.returned = 1'000'000'000, .fresh = 1'000'000'000};
    EXPECT_EQ(read_through("ready", claim_sql(s, 1, 100, end)), 0);
}

TEST_F(ClaimPlans, AnEmptyClaimReadsNothingOfWhatIsDueLater) {
    const auto s = session();
    enqueue(c, 1);
    const std::string later = "insert into deadman.later(id, due, queue, priority, lane) select "
                              "100000 + g, now() + interval '1 day', 1, 5, 1 from "
                              "generate_series(1, " +
                              std::to_string(many) + ") g";
    c.run(later);
    c.run("analyze");
    EXPECT_EQ(read_through("later", claim_sql(s, 1, 100)), 0);
}

} // namespace
} // namespace deadman::test
