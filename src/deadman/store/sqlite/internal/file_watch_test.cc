// A database that is moved, replaced or removed under a process that has it open.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "deadman/platform/paths.h"
#include "deadman/store/sqlite/internal/file_watch.h"
#include "deadman/store/sqlite/internal/schema.h"

namespace deadman::store::sqlite {
namespace {

namespace fs = std::filesystem;

class FileWatchTest : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = platform::TemporaryDirectory::create("deadman-sqlite-");
        ASSERT_TRUE(folder.has_value());
        folder_.emplace(std::move(*folder));
        path_ = folder_->path() + "/test.db";
        watch_.emplace(path_, path_);
        auto connection = Connection::open({.path = path_, .may_create = true});
        ASSERT_TRUE(connection.has_value());
        db_ = std::move(*connection);
        ASSERT_TRUE(use_write_ahead_log(*db_).has_value());
        db_->run("CREATE TABLE thing (id INTEGER PRIMARY KEY) STRICT");
        ASSERT_TRUE(watch_->remember(*db_).has_value());
        ASSERT_TRUE(watch_->check().has_value());
    }

    void expect_refused(const std::string& because) {
        const base::Status status = watch_->check();
        ASSERT_FALSE(status.has_value()) << because;
        EXPECT_EQ(status.error().code, base::ErrorCode::unavailable);
        EXPECT_NE(status.error().message.find(because), std::string::npos)
            << status.error().message;
    }

    std::optional<platform::TemporaryDirectory> folder_;
    std::string path_;
    std::optional<FileWatch> watch_;
    std::unique_ptr<Connection> db_;
};

TEST_F(FileWatchTest, SeesEachOfTheThreeFilesGoAndComeBack) {
    for (const std::string& file : {path_, path_ + "-wal", path_ + "-shm"}) {
        fs::rename(file, path_ + ".away");
        expect_refused(file + " was moved or removed");
        fs::rename(path_ + ".away", file);
        EXPECT_TRUE(watch_->check().has_value()) << file;
    }
}

TEST_F(FileWatchTest, SeesAFileInItsPlace) {
    for (const std::string& file : {path_, path_ + "-wal", path_ + "-shm"}) {
        fs::rename(file, path_ + ".away");
        fs::copy_file(path_ + ".away", file);
        expect_refused(file + " was replaced");
        fs::rename(path_ + ".away", file);
        EXPECT_TRUE(watch_->check().has_value()) << file;
    }
}

TEST_F(FileWatchTest, SeesALinkThatPointsElsewhere) {
    const std::string link = folder_->path() + "/link.db";
    fs::create_symlink(path_, link);
    FileWatch watch(link, path_);
    ASSERT_TRUE(watch.remember(*db_).has_value());
    fs::remove(link);
    std::ofstream(folder_->path() + "/other.db") << "x";
    fs::create_symlink(folder_->path() + "/other.db", link);
    EXPECT_FALSE(watch.check().has_value());
}

TEST_F(FileWatchTest, FileThatCameBackChangedIsNotTrusted) {
    fs::rename(path_, path_ + ".away");
    expect_refused("was moved or removed");
    std::ofstream(path_ + ".away", std::ios::app) << "x";
    fs::rename(path_ + ".away", path_);
    expect_refused("somebody has written to it");
    expect_refused("restart");
}

TEST_F(FileWatchTest, CheckpointsInPlaceAreNoChange) {
    db_->run("INSERT INTO thing DEFAULT VALUES");
    db_->run("PRAGMA wal_checkpoint");
    EXPECT_TRUE(watch_->check().has_value());
}

TEST_F(FileWatchTest, OneMoreConnectionNeitherMakesAFileNorTakesAnother) {
    fs::rename(path_, path_ + ".away");
    EXPECT_FALSE(watch_->open({.path = path_}).has_value());
    EXPECT_FALSE(fs::exists(path_));
    std::ofstream(path_).flush();
    EXPECT_FALSE(watch_->open({.path = path_}).has_value());
    EXPECT_TRUE(fs::exists(path_ + "-wal"));
}

// SQLite would take the log of an empty file for a leftover and delete it.
TEST_F(FileWatchTest, NewDatabaseIsNotMadeBesideALogThatWasLeftBehind) {
    fs::rename(path_, path_ + ".away");
    const base::Status missing = FileWatch(path_, path_).check_before_opening();
    ASSERT_FALSE(missing.has_value());
    EXPECT_EQ(missing.error().code, base::ErrorCode::conflict);
    EXPECT_NE(missing.error().message.find(path_ + "-wal"), std::string::npos);
    std::ofstream(path_).flush(); // empty
    EXPECT_FALSE(FileWatch(path_, path_).check_before_opening().has_value());
    fs::rename(path_ + ".away", path_);
    EXPECT_TRUE(FileWatch(path_, path_).check_before_opening().has_value());
}

} // namespace
} // namespace deadman::store::sqlite
