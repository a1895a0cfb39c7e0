#include "deadman/store/postgres/internal/failure.h"

#include <gtest/gtest.h>
#include <pqxx/pqxx>

namespace deadman::store::postgres {
namespace {

using base::ErrorCode;

struct Expected {
    const char* sqlstate;
    Sent sent;
    ErrorCode code;
    Remedy remedy;
    bool connection_lost;
};

class SqlStates : public testing::TestWithParam<Expected> {};

TEST_P(SqlStates, NameTheNextMove) {
    const Expected& expected = GetParam();
    const Failure failure = translate_sqlstate(expected.sqlstate, "text", expected.sent);
    EXPECT_EQ(failure.error.code, expected.code);
    EXPECT_EQ(failure.remedy, expected.remedy);
    EXPECT_EQ(failure.connection_lost, expected.connection_lost);
    EXPECT_EQ(failure.error.message, "text");
}

INSTANTIATE_TEST_SUITE_P(
    Table, SqlStates,
    testing::Values(
        Expected{"DM001", Sent::deciding, ErrorCode::fenced, Remedy::none, false},
        Expected{"DM002", Sent::writing, ErrorCode::conflict, Remedy::own_lease, false},
        Expected{"DM003", Sent::writing, ErrorCode::cancelled, Remedy::none, false},
        Expected{"DM004", Sent::deciding, ErrorCode::conflict, Remedy::none, false},
        Expected{"DM005", Sent::deciding, ErrorCode::unavailable, Remedy::raise_fence, false},
        Expected{"DM404", Sent::deciding, ErrorCode::not_found, Remedy::none, false},
        Expected{"40001", Sent::deciding, ErrorCode::unavailable, Remedy::repeat, false},
        Expected{"40P01", Sent::writing, ErrorCode::unavailable, Remedy::repeat, false},
        Expected{"40003", Sent::deciding, ErrorCode::outcome_unknown, Remedy::none, true},
        Expected{"40003", Sent::reading, ErrorCode::unavailable, Remedy::reconnect, true},
        Expected{"57P01", Sent::deciding, ErrorCode::outcome_unknown, Remedy::none, true},
        Expected{"57P01", Sent::writing, ErrorCode::unavailable, Remedy::none, true},
        Expected{"57P01", Sent::reading, ErrorCode::unavailable, Remedy::reconnect, true},
        Expected{"57P03", Sent::deciding, ErrorCode::unavailable, Remedy::none, false},
        Expected{"08006", Sent::deciding, ErrorCode::outcome_unknown, Remedy::none, true},
        Expected{"25P03", Sent::writing, ErrorCode::unavailable, Remedy::none, true},
        Expected{"23505", Sent::deciding, ErrorCode::already_exists, Remedy::none, false},
        Expected{"23514", Sent::deciding, ErrorCode::unavailable, Remedy::make_partitions, false},
        Expected{"23503", Sent::deciding, ErrorCode::conflict, Remedy::none, false},
        Expected{"25006", Sent::deciding, ErrorCode::unavailable, Remedy::none, false},
        Expected{"26000", Sent::deciding, ErrorCode::internal, Remedy::reconnect, true},
        Expected{"42P01", Sent::reading, ErrorCode::conflict, Remedy::none, false},
        Expected{"22021", Sent::deciding, ErrorCode::invalid_argument, Remedy::none, false},
        Expected{"22P05", Sent::deciding, ErrorCode::invalid_argument, Remedy::none, false},
        Expected{"53100", Sent::deciding, ErrorCode::exhausted, Remedy::none, false},
        Expected{"53300", Sent::deciding, ErrorCode::unavailable, Remedy::none, false},
        Expected{"55P03", Sent::deciding, ErrorCode::unavailable, Remedy::none, false},
        Expected{"57014", Sent::deciding, ErrorCode::unavailable, Remedy::none, false},
        Expected{"XX000", Sent::deciding, ErrorCode::internal, Remedy::none, false}));

TEST(DriverFailures, UnknownOutcomesAreSeenBeforeTheRollbackTheyDeriveFrom) {
    const pqxx::statement_completion_unknown unknown("lost", "commit", "40003");
    EXPECT_EQ(translate_failure(unknown, Sent::deciding).error.code, ErrorCode::outcome_unknown);
    const pqxx::in_doubt_error doubt("lost");
    EXPECT_EQ(translate_failure(doubt, Sent::deciding).error.code, ErrorCode::outcome_unknown);
    const pqxx::serialization_failure rolled_back("again", "select", "40001");
    EXPECT_EQ(translate_failure(rolled_back, Sent::deciding).remedy, Remedy::repeat);
}

TEST(DriverFailures, BrokenConnectionIsUnknownOnlyWhereItDecided) {
    const pqxx::broken_connection broken("server closed the connection");
    EXPECT_EQ(translate_failure(broken, Sent::deciding).error.code, ErrorCode::outcome_unknown);
    EXPECT_EQ(translate_failure(broken, Sent::writing).error.code, ErrorCode::unavailable);
    EXPECT_EQ(translate_failure(broken, Sent::reading).remedy, Remedy::reconnect);
    const pqxx::sql_error without_state("the connection went away", "select");
    EXPECT_EQ(translate_failure(without_state, Sent::deciding).error.code,
              ErrorCode::outcome_unknown);
}

TEST(DriverFailures, MessageIsTheServersSentence) {
    const pqxx::sql_error error(
        "Failure during 'x': ERROR:  job 7 was cancelled\nCONTEXT:  PL/pgSQL\n", "x", "DM003");
    EXPECT_EQ(translate_failure(error, Sent::writing).error.message, "job 7 was cancelled");
}

TEST(DriverFailures, MistakesInAHandlersStatementAreTheHandlers) {
    const pqxx::undefined_table missing("ERROR:  relation \"x\" does not exist", "x", "42P01");
    EXPECT_EQ(translate_effect_failure(missing).code, ErrorCode::invalid_argument);
    const pqxx::unique_violation taken("ERROR:  duplicate key", "x", "23505");
    EXPECT_EQ(translate_effect_failure(taken).code, ErrorCode::already_exists);
}

// The store's trouble spends no attempt: what a statement is itself the reason of must not pass for
// it, or the job comes back for ever.
TEST(DriverFailures, OfAHandlersStatementAreTheStoresTroubleOnlyWhereAnyStatementCouldMeetThem) {
    for (const char* state : {"23514", "55000", "55P03", "57014", "DM005"}) {
        const pqxx::sql_error error("ERROR:  x", "x", state);
        EXPECT_EQ(translate_effect_failure(error).code, ErrorCode::conflict) << state;
    }
    for (const char* state :
         {"40001", "40P01", "53100", "53300", "57P01", "57P03", "08006", "25006"}) {
        const pqxx::sql_error error("ERROR:  x", "x", state);
        const ErrorCode code = translate_effect_failure(error).code;
        EXPECT_TRUE(code == ErrorCode::unavailable || code == ErrorCode::exhausted) << state;
    }
}

} // namespace
} // namespace deadman::store::postgres
