// What the last connection leaves behind.

#include <filesystem>

#include <gtest/gtest.h>

#include "deadman/platform/file_lock.h"
#include "deadman/platform/paths.h"
#include "deadman/store/sqlite/internal/farewell.h"
#include "deadman/store/sqlite/internal/schema.h"

namespace deadman::store::sqlite {
namespace {

class FarewellTest : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = platform::TemporaryDirectory::create("deadman-sqlite-");
        ASSERT_TRUE(folder.has_value());
        folder_.emplace(std::move(*folder));
        path_ = folder_->path() + "/test.db";
        watch_.emplace(path_, path_);
    }

    std::unique_ptr<Connection> open() const {
        auto connection = Connection::open({.path = path_, .may_create = true});
        EXPECT_TRUE(connection.has_value());
        EXPECT_TRUE(use_write_ahead_log(**connection).has_value());
        return std::move(*connection);
    }

    /// Writes, and says farewell.
    void write_and_leave(std::uint64_t most_bytes = Farewell::longest_log) {
        auto connection = open();
        ASSERT_TRUE(watch_->remember(*connection).has_value());
        Connection& db = *connection;
        const Farewell farewell(std::move(connection), path_, *watch_, most_bytes);
        db.run("CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY) STRICT");
        db.run("INSERT INTO thing DEFAULT VALUES");
    }

    bool has_log() const {
        return std::filesystem::exists(path_ + "-wal");
    }

    /// What a copy of the database alone has in it, without its log.
    std::int64_t count_in_a_copy() const {
        const std::string copy = folder_->path() + "/copy.db";
        std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
        auto connection = Connection::open({.path = copy});
        if (!connection)
            return -1;
        try {
            Cursor row = (*connection)->query("SELECT count(*) FROM thing");
            return row.next() ? row.integer(0) : -1;
        } catch (const SqliteFailure&) {
            return -1;
        }
    }

    std::optional<platform::TemporaryDirectory> folder_;
    std::string path_;
    std::optional<FileWatch> watch_;
};

TEST_F(FarewellTest, LastOneLeavesAllInTheOneFile) {
    write_and_leave();
    EXPECT_FALSE(has_log());
    EXPECT_EQ(count_in_a_copy(), 1);
}

TEST_F(FarewellTest, NothingIsCopiedWhileAnotherHasTheFileOpen) {
    const auto other = open();
    const auto bytes = std::filesystem::file_size(path_);
    write_and_leave();
    EXPECT_TRUE(has_log());
    EXPECT_EQ(std::filesystem::file_size(path_), bytes);
}

TEST_F(FarewellTest, NothingIsCopiedWhileAnotherIsTheOwner) {
    const auto owner = platform::FileLock::try_acquire(path_ + ".owner");
    ASSERT_TRUE(owner && *owner);
    write_and_leave();
    EXPECT_TRUE(has_log());
    EXPECT_EQ(count_in_a_copy(), -1);
}

TEST_F(FarewellTest, LogThatIsTooLongStaysForTheNextOne) {
    write_and_leave(100);
    EXPECT_TRUE(has_log());
    EXPECT_EQ(count_in_a_copy(), -1);
    write_and_leave();
    EXPECT_FALSE(has_log());
    EXPECT_EQ(count_in_a_copy(), 2);
}

TEST_F(FarewellTest, FileThatWasMovedIsLeftAsItIs) {
    {
        auto connection = open();
        ASSERT_TRUE(watch_->remember(*connection).has_value());
        Connection& db = *connection;
        const Farewell farewell(std::move(connection), path_, *watch_);
        db.run("CREATE TABLE thing (id INTEGER PRIMARY KEY) STRICT");
        std::filesystem::rename(path_, path_ + ".moved");
    }
    EXPECT_TRUE(has_log());
    std::filesystem::rename(path_ + ".moved", path_);
    write_and_leave();
    EXPECT_EQ(count_in_a_copy(), 1);
}

} // namespace
} // namespace deadman::store::sqlite
