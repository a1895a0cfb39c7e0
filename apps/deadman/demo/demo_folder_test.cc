#include "apps/deadman/demo/demo_folder.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "deadman/platform/paths.h"

namespace deadman::demo {
namespace {

class DemoFolderTest : public testing::Test {
  protected:
    std::string path() const {
        return directory_.path() + "/a/demo";
    }

    static void write(const std::string& path) {
        ASSERT_TRUE(platform::write_file_atomically(path, "x"));
    }

  private:
    platform::TemporaryDirectory directory_ =
        std::move(*platform::TemporaryDirectory::create("deadman-demo-test"));
};

TEST_F(DemoFolderTest, ReplacesWhatAnEarlierDemoLeft) {
    {
        const auto folder = DemoFolder::take(path());
        ASSERT_TRUE(folder) << folder.error().message;
        write(folder->store_path());
        write(folder->run_path() + "/journal");
    }
    const auto again = DemoFolder::take(path());
    ASSERT_TRUE(again);
    EXPECT_FALSE(std::filesystem::exists(again->store_path()));
    EXPECT_FALSE(std::filesystem::exists(again->run_path() + "/journal"));
}

TEST_F(DemoFolderTest, TouchesNothingInAFolderThatIsNoDemos) {
    std::filesystem::create_directories(path() + "/store");
    write(path() + "/store/precious");
    const auto folder = DemoFolder::take(path());
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, base::ErrorCode::conflict);
    EXPECT_TRUE(std::filesystem::exists(path() + "/store/precious"));
}

TEST_F(DemoFolderTest, KeepsWhatElseIsInADemosFolder) {
    ASSERT_TRUE(DemoFolder::take(path()));
    write(path() + "/notes");
    ASSERT_TRUE(DemoFolder::take(path()));
    EXPECT_TRUE(std::filesystem::exists(path() + "/notes"));
}

TEST_F(DemoFolderTest, RefusesASecondDemoAtTheSameTime) {
    const auto first = DemoFolder::take(path());
    ASSERT_TRUE(first);
    write(first->store_path());
    const auto second = DemoFolder::take(path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, base::ErrorCode::conflict);
    EXPECT_TRUE(std::filesystem::exists(first->store_path()));
}

} // namespace
} // namespace deadman::demo
