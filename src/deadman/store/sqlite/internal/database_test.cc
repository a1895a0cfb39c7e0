// Connections, statements and checkpoints over SQLite itself.

#include <filesystem>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "deadman/platform/file_lock.h"
#include "deadman/platform/paths.h"
#include "deadman/store/sqlite/internal/checkpoints.h"
#include "deadman/store/sqlite/internal/database.h"
#include "deadman/store/sqlite/internal/schema.h"

namespace deadman::store::sqlite {
namespace {

using namespace std::chrono_literals;

class DatabaseTest : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = platform::TemporaryDirectory::create("deadman-sqlite-");
        ASSERT_TRUE(folder.has_value());
        folder_.emplace(std::move(*folder));
        path_ = folder_->path() + "/test.db";
        db_ = open();
        ASSERT_TRUE(use_write_ahead_log(*db_).has_value());
        db_->run("CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT UNIQUE) STRICT");
    }

    ConnectionOptions options() const {
        return {.path = path_, .durable = false, .may_create = true, .busy_patience = 20ms};
    }

    std::unique_ptr<Connection> open() const {
        auto connection = Connection::open(options());
        EXPECT_TRUE(connection.has_value());
        return std::move(*connection);
    }

    std::int64_t count() {
        Cursor row = db_->query("SELECT count(*) FROM thing");
        return row.next() ? row.integer(0) : -1;
    }

    std::uintmax_t log_bytes() const {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(path_ + "-wal", error);
        return error ? 0 : bytes;
    }

    base::Result<CheckpointReport> checkpoint(int log_pages = 0, int most_blocking = 1'000) {
        FileWatch watch(path_, path_);
        DEADMAN_TRY_STATUS(watch.remember(*db_));
        return Checkpoints(options(), watch).run(log_pages, most_blocking);
    }

    int code_of(const std::function<void()>& call) {
        try {
            call();
        } catch (const SqliteFailure& failure) {
            return failure.code;
        }
        return SQLITE_OK;
    }

    std::optional<platform::TemporaryDirectory> folder_;
    std::string path_;
    std::unique_ptr<Connection> db_;
};

TEST_F(DatabaseTest, CarriesTextByteForByte) {
    const std::string text("a\0b\xF0\x9F\x98\x80", 7);
    db_->run("INSERT INTO thing (id, name) VALUES (1, ?1)", text);
    Cursor row = db_->query("SELECT name FROM thing WHERE id = 1");
    ASSERT_TRUE(row.next());
    EXPECT_EQ(row.text(0), text);
}

TEST_F(DatabaseTest, BindsAnEmptyTextNotNull) {
    db_->run("INSERT INTO thing (id, name) VALUES (1, ?1)", std::string_view{});
    Cursor row = db_->query("SELECT name IS NULL FROM thing");
    ASSERT_TRUE(row.next());
    EXPECT_FALSE(row.flag(0));
}

TEST_F(DatabaseTest, UsesOneStatementTwiceAtOnce) {
    for (int id = 1; id <= 2; ++id)
        db_->run("INSERT INTO thing (id, name) VALUES (?1, ?1 || '')", id);
    int pairs = 0;
    Cursor outer = db_->query("SELECT id FROM thing");
    while (outer.next()) {
        Cursor inner = db_->query("SELECT id FROM thing");
        while (inner.next())
            ++pairs;
    }
    EXPECT_EQ(pairs, 4);
}

TEST_F(DatabaseTest, StatementServesAgainAfterItFailed) {
    db_->run("INSERT INTO thing (id, name) VALUES (?1, 'a')", 1);
    EXPECT_EQ(code_of([&] { db_->run("INSERT INTO thing (id, name) VALUES (?1, 'b')", 1); }),
              SQLITE_CONSTRAINT_PRIMARYKEY);
    EXPECT_EQ(db_->run("INSERT INTO thing (id, name) VALUES (?1, 'b')", 2), 1);
}

TEST_F(DatabaseTest, RollsBackWhatIsNotCommitted) {
    {
        const WriteTransaction transaction(*db_);
        db_->run("INSERT INTO thing (id, name) VALUES (1, 'a')");
    }
    EXPECT_FALSE(db_->in_transaction());
    EXPECT_EQ(count(), 0);
}

TEST_F(DatabaseTest, GivesUpOnTheWriteLockAfterItsPatience) {
    const auto other = open();
    const WriteTransaction holder(*other);
    EXPECT_EQ(code_of([&] { const WriteTransaction second(*db_); }) & 0xff, SQLITE_BUSY);
}

TEST_F(DatabaseTest, RefusesMoreThanOneStatement) {
    EXPECT_EQ(code_of([&] { db_->prepare("SELECT 1; DELETE FROM thing", false); }), SQLITE_ERROR);
    EXPECT_EQ(code_of([&] { db_->prepare("SELECT 1; \n", false); }), SQLITE_OK);
}

TEST_F(DatabaseTest, RestrictedStatementsLeaveTransactionAndOwnTablesAlone) {
    db_->run("CREATE TABLE deadman_x (id INTEGER) STRICT");
    db_->restrict_statements(true);
    for (const char* sql :
         {"COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT a", "ATTACH 'x' AS y", "DELETE FROM deadman_x",
          "INSERT INTO deadman_x VALUES (1)", "UPDATE deadman_x SET id = 2", "DROP TABLE deadman_x",
          "ALTER TABLE deadman_x RENAME TO y", "PRAGMA wal_checkpoint",
          "PRAGMA wal_autocheckpoint = 1000"})
        EXPECT_EQ(code_of([&] { db_->prepare(sql, false); }), SQLITE_AUTH) << sql;
    for (const char* sql : {"SELECT * FROM deadman_x", "INSERT INTO thing VALUES (1, 'a')",
                            "CREATE TABLE other (id INTEGER)", "PRAGMA table_info(thing)"})
        EXPECT_EQ(code_of([&] { db_->prepare(sql, false); }), SQLITE_OK) << sql;
}

TEST_F(DatabaseTest, InterruptEndsARunawayStatement) {
    db_->set_interrupt([] { return true; });
    const int code = code_of([&] {
        db_->prepare("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                     "SELECT count(*) FROM n",
                     false)
            .next();
    });
    EXPECT_EQ(code, SQLITE_INTERRUPT);
}

TEST_F(DatabaseTest, NothingCheckpointsByItself) {
    for (int i = 0; i < 3'000; ++i) // three times what SQLite would let pass
        db_->run("INSERT INTO thing (id, name) VALUES (?1, ?1 || ' a name')", i);
    const auto file_bytes = std::filesystem::file_size(path_);
    const auto log = log_bytes();
    EXPECT_GT(log, 3'000U * 4'096U);
    db_.reset(); // the last connection
    EXPECT_EQ(std::filesystem::file_size(path_), file_bytes);
    EXPECT_EQ(log_bytes(), log);
}

TEST_F(DatabaseTest, CheckpointCopiesTheLogAndLetsItStartAnew) {
    for (int i = 0; i < 100; ++i)
        db_->run("INSERT INTO thing (id, name) VALUES (?1, ?1 || '')", i);
    const auto log = log_bytes();
    const auto report = checkpoint();
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_TRUE(report->is_owner);
    EXPECT_GT(report->log_pages, 0);
    EXPECT_EQ(report->copied_pages, report->log_pages);
    db_->run("INSERT INTO thing (id, name) VALUES (1000, '1000')");
    EXPECT_EQ(log_bytes(), log);
    EXPECT_EQ(count(), 101);
}

TEST_F(DatabaseTest, CheckpointWaitsForWritersAndGivesUp) {
    db_->run("INSERT INTO thing (id, name) VALUES (1, 'a')");
    const auto file_bytes = std::filesystem::file_size(path_);
    const WriteTransaction writer(*db_);
    const auto report = checkpoint();
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().code, base::ErrorCode::unavailable);
    EXPECT_EQ(std::filesystem::file_size(path_), file_bytes);
}

TEST_F(DatabaseTest, CheckpointIsLeftToTheOwner) {
    const auto owner = platform::FileLock::try_acquire(path_ + ".owner");
    ASSERT_TRUE(owner && *owner);
    const auto report = checkpoint();
    ASSERT_TRUE(report.has_value());
    EXPECT_FALSE(report->is_owner);
    EXPECT_EQ(report->log_pages, 0);
}

TEST_F(DatabaseTest, CheckpointLeavesAReaderItsSnapshot) {
    db_->run("INSERT INTO thing (id, name) VALUES (1, 'a')");
    const auto reader = open();
    reader->run("BEGIN");
    EXPECT_TRUE(reader->query("SELECT 1 FROM thing").next());
    db_->run("INSERT INTO thing (id, name) VALUES (2, 'b')");
    const auto report = checkpoint();
    ASSERT_TRUE(report.has_value());
    EXPECT_LT(report->copied_pages, report->log_pages);
}

TEST_F(DatabaseTest, MostOfALongLogIsCopiedBesideTheWriters) {
    db_->run("CREATE TABLE deadman_sequence (name TEXT PRIMARY KEY, value INTEGER) STRICT");
    for (int i = 0; i < 200; ++i)
        db_->run("INSERT INTO thing (id, name) VALUES (?1, ?1 || '')", i);
    const auto report = checkpoint(400, 100);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->rounds_beside_writers, 1) << "nobody wrote meanwhile";
    EXPECT_EQ(report->copied_pages, report->log_pages);
    const auto short_one = checkpoint(50, 100);
    ASSERT_TRUE(short_one.has_value());
    EXPECT_EQ(short_one->rounds_beside_writers, 0);
    EXPECT_EQ(count(), 200);
}

TEST_F(DatabaseTest, LongLogThatAReaderHoldsIsNotTriedForEver) {
    db_->run("CREATE TABLE deadman_sequence (name TEXT PRIMARY KEY, value INTEGER) STRICT");
    const auto reader = open();
    reader->run("BEGIN");
    EXPECT_EQ(reader->query("SELECT count(*) FROM thing").next(), true);
    for (int i = 0; i < 200; ++i)
        db_->run("INSERT INTO thing (id, name) VALUES (?1, ?1 || '')", i);
    const auto report = checkpoint(400, 100);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_LE(report->rounds_beside_writers, 2);
    EXPECT_LT(report->copied_pages, report->log_pages);
}

TEST_F(DatabaseTest, MigratesOnceAndRefusesANewerSchema) {
    const base::TimePoint now = base::from_micros(1);
    {
        WriteTransaction transaction(*db_);
        const auto first = migrate(*db_, now);
        ASSERT_TRUE(first.has_value());
        EXPECT_EQ(first->from_version, 0);
        EXPECT_EQ(first->to_version, schema_version());
        const auto second = migrate(*db_, now);
        ASSERT_TRUE(second.has_value());
        EXPECT_EQ(second->from_version, schema_version());
        transaction.commit();
    }
    db_->run("INSERT INTO deadman_migration VALUES (?1, 'of tomorrow', 1)", schema_version() + 1);
    const auto newer = migrate(*db_, now);
    ASSERT_FALSE(newer.has_value());
    EXPECT_EQ(newer.error().code, base::ErrorCode::conflict);
}

} // namespace
} // namespace deadman::store::sqlite
