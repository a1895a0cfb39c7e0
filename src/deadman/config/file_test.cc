// Goal: the file that was named is read or missed with an error; without a name the usual places
// are tried, and none there is fine.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "deadman/config/config.h"

namespace deadman::config {
namespace {

/// A folder of its own that the process works in meanwhile.
class ConfigFile : public testing::Test {
  protected:
    void SetUp() override {
        before_ = std::filesystem::current_path();
        folder_ = std::filesystem::path(testing::TempDir()) /
                  ("deadman_config_" +
                   std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
        std::filesystem::create_directories(folder_);
        std::filesystem::current_path(folder_);
    }

    void TearDown() override {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(folder_);
    }

    std::filesystem::path before_;
    std::filesystem::path folder_;
};

TEST_F(ConfigFile, NamedAndMissingIsAnError) {
    const auto file = read_file("nowhere.toml");
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().code, base::ErrorCode::not_found);
}

TEST_F(ConfigFile, TheOneInTheFolderIsFoundUnasked) {
    std::ofstream("deadman.toml") << "log_level = \"warn\"\n";
    const auto file = read_file("");
    ASSERT_TRUE(file.has_value() && file->has_value());
    EXPECT_EQ((*file)->path, "deadman.toml");
    EXPECT_EQ((*file)->text, "log_level = \"warn\"\n");
}

TEST_F(ConfigFile, TheNamedOneWins) {
    std::ofstream("deadman.toml") << "a";
    std::ofstream("other.toml") << "b";
    EXPECT_EQ(read_file("other.toml").value().value().text, "b");
}

TEST_F(ConfigFile, NoneIsFine) {
    if (std::filesystem::exists("/etc/deadman/deadman.toml"))
        GTEST_SKIP() << "this machine has a config of its own";
    EXPECT_EQ(read_file("").value(), std::nullopt);
}

TEST_F(ConfigFile, FoldersAndHugeFilesAreRefused) {
    std::filesystem::create_directory("folder.toml");
    EXPECT_EQ(read_file("folder.toml").error().code, base::ErrorCode::invalid_argument);
    std::ofstream("huge.toml") << std::string((1 << 20) + 1, '#');
    EXPECT_EQ(read_file("huge.toml").error().code, base::ErrorCode::invalid_argument);
}

} // namespace
} // namespace deadman::config
