#include <gtest/gtest.h>
#include <sqlite3.h>

#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/examine.h"

namespace deadman::store::sqlite {
namespace {

using base::ErrorCode;

struct TranslateCase {
    int code;
    Moment moment;
    ErrorCode expected;
};

class TranslateSqlite : public testing::TestWithParam<TranslateCase> {};

TEST_P(TranslateSqlite, NamesTheCallersNextMove) {
    const auto [code, moment, expected] = GetParam();
    const base::Error error = translate_sqlite({code, "said"}, moment);
    EXPECT_EQ(error.code, expected) << error.message;
    EXPECT_FALSE(error.message.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Codes, TranslateSqlite,
    testing::Values(
        TranslateCase{SQLITE_BUSY, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_BUSY_SNAPSHOT, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_BUSY_RECOVERY, Moment::commit, ErrorCode::unavailable},
        TranslateCase{SQLITE_LOCKED, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_CANTOPEN, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_READONLY_DBMOVED, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_FULL, Moment::statement, ErrorCode::exhausted},
        TranslateCase{SQLITE_FULL, Moment::commit, ErrorCode::exhausted},
        TranslateCase{SQLITE_NOMEM, Moment::statement, ErrorCode::exhausted},
        TranslateCase{SQLITE_IOERR_READ, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_IOERR_FSYNC, Moment::statement, ErrorCode::unavailable},
        TranslateCase{SQLITE_IOERR_WRITE, Moment::commit, ErrorCode::unavailable},
        TranslateCase{SQLITE_IOERR_FSYNC, Moment::commit, ErrorCode::outcome_unknown},
        TranslateCase{SQLITE_IOERR_SHMMAP, Moment::commit, ErrorCode::outcome_unknown},
        TranslateCase{SQLITE_INTERRUPT, Moment::statement, ErrorCode::cancelled},
        TranslateCase{SQLITE_CONSTRAINT_UNIQUE, Moment::statement, ErrorCode::already_exists},
        TranslateCase{SQLITE_CONSTRAINT_PRIMARYKEY, Moment::statement, ErrorCode::already_exists},
        TranslateCase{SQLITE_CONSTRAINT_CHECK, Moment::statement, ErrorCode::conflict},
        TranslateCase{SQLITE_AUTH, Moment::statement, ErrorCode::invalid_argument},
        TranslateCase{SQLITE_NOTADB, Moment::statement, ErrorCode::invalid_argument},
        TranslateCase{SQLITE_CORRUPT, Moment::statement, ErrorCode::internal},
        TranslateCase{SQLITE_MISUSE, Moment::statement, ErrorCode::internal},
        TranslateCase{SQLITE_ERROR, Moment::statement, ErrorCode::internal}));

TEST(TranslateSqlite, SaysThatTheSchemaIsMissing) {
    const base::Error error =
        translate_sqlite({SQLITE_ERROR, "no such table: deadman_job"}, Moment::statement);
    EXPECT_EQ(error.code, ErrorCode::conflict);
    EXPECT_NE(error.message.find("migrate"), std::string::npos);
}

TEST(TranslateSqlite, NeverShowsALockedDatabaseAsSqliteSaysIt) {
    for (const int code : {SQLITE_BUSY, SQLITE_LOCKED, SQLITE_BUSY_SNAPSHOT})
        EXPECT_EQ(translate_sqlite({code, "database is locked"}, Moment::statement)
                      .message.find("is locked"),
                  std::string::npos);
}

TEST(WalResetBug, IsInTheReleasesThatHaveIt) {
    EXPECT_FALSE(has_wal_reset_bug(3'006'023));
    EXPECT_TRUE(has_wal_reset_bug(3'007'000));
    EXPECT_TRUE(has_wal_reset_bug(3'044'005));
    EXPECT_FALSE(has_wal_reset_bug(3'044'006));
    EXPECT_TRUE(has_wal_reset_bug(3'045'000));
    EXPECT_TRUE(has_wal_reset_bug(3'046'001));
    EXPECT_TRUE(has_wal_reset_bug(3'050'006));
    EXPECT_FALSE(has_wal_reset_bug(3'050'007));
    EXPECT_TRUE(has_wal_reset_bug(3'051'002));
    EXPECT_FALSE(has_wal_reset_bug(3'051'003));
}

} // namespace
} // namespace deadman::store::sqlite
