#include "deadman/platform/paths.h"

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace deadman::platform {
namespace {

TemporaryDirectory make_directory() {
    auto made = TemporaryDirectory::create("deadman-paths-test");
    EXPECT_TRUE(made.has_value());
    return std::move(*made);
}

mode_t mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
}

TEST(TemporaryDirectory, IsPrivateAndGoesWithAllThatIsInIt) {
    std::string path;
    {
        const TemporaryDirectory directory = make_directory();
        path = directory.path();
        EXPECT_EQ(mode_of(path), 0700U);
        ASSERT_TRUE(create_directories(path + "/a/b"));
        ASSERT_TRUE(write_file_atomically(path + "/a/b/file", "x"));
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryDirectory, StaysWhenItIsKept) {
    std::string path;
    {
        TemporaryDirectory directory = make_directory();
        path = directory.path();
        directory.keep();
    }
    EXPECT_TRUE(std::filesystem::remove(path));
}

TEST(PublishFile, GivesTheNameAndRefusesOneThatIsTaken) {
    const TemporaryDirectory directory = make_directory();
    const std::string draft = directory.path() + "/draft";
    const std::string name = directory.path() + "/name";
    ASSERT_TRUE(write_file_atomically(draft, "first"));
    ASSERT_TRUE(publish_file(draft, name));
    EXPECT_FALSE(std::filesystem::exists(draft));
    EXPECT_EQ(mode_of(name), 0600U);
    ASSERT_TRUE(write_file_atomically(draft, "second"));
    const base::Status refused = publish_file(draft, name);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, base::ErrorCode::already_exists);
    EXPECT_EQ(read_file(name, 100).value_or(""), "first");
    EXPECT_TRUE(std::filesystem::exists(draft));
}

TEST(CreateDirectories, MakesParentsForThisUserOnlyAndIsIdempotent) {
    const TemporaryDirectory directory = make_directory();
    const std::string path = directory.path() + "/one/two/three";
    ASSERT_TRUE(create_directories(path));
    EXPECT_EQ(mode_of(directory.path() + "/one"), 0700U);
    EXPECT_TRUE(create_directories(path));
    EXPECT_TRUE(create_directories(path + "/"));
}

TEST(CreateDirectories, RefusesAFileInTheWay) {
    const TemporaryDirectory directory = make_directory();
    ASSERT_TRUE(write_file_atomically(directory.path() + "/file", ""));
    const base::Status on_top = create_directories(directory.path() + "/file");
    ASSERT_FALSE(on_top);
    EXPECT_EQ(on_top.error().code, base::ErrorCode::already_exists);
    EXPECT_FALSE(create_directories(directory.path() + "/file/below"));
}

TEST(WriteFileAtomically, ReplacesTheWholeFileAndLeavesNoDraft) {
    const TemporaryDirectory directory = make_directory();
    const std::string path = directory.path() + "/file";
    ASSERT_TRUE(write_file_atomically(path, std::string(100'000, 'a')));
    ASSERT_TRUE(write_file_atomically(path, "short"));
    EXPECT_EQ(read_file(path, 100).value(), "short");
    EXPECT_EQ(mode_of(path), 0600U);
    const auto entries = std::filesystem::directory_iterator(directory.path());
    EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST(WriteFileAtomically, NamesTheFolderThatIsMissing) {
    const TemporaryDirectory directory = make_directory();
    const base::Status written = write_file_atomically(directory.path() + "/none/file", "x");
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, base::ErrorCode::not_found);
    EXPECT_NE(written.error().message.find("/none/file"), std::string::npos);
}

TEST(ReadFile, RefusesWhatIsMissingTooLongOrAFolder) {
    const TemporaryDirectory directory = make_directory();
    const std::string path = directory.path() + "/file";
    ASSERT_TRUE(write_file_atomically(path, std::string(1'000, 'a')));
    EXPECT_EQ(read_file(path, 1'000).value().size(), 1'000U);
    EXPECT_EQ(read_file(path, 999).error().code, base::ErrorCode::exhausted);
    EXPECT_EQ(read_file(path + "s", 9).error().code, base::ErrorCode::not_found);
    EXPECT_EQ(read_file(directory.path(), 9).error().code, base::ErrorCode::invalid_argument);
}

TEST(AppendFile, KeepsTheLinesOfSeveralWritersWhole) {
    const TemporaryDirectory directory = make_directory();
    const std::string path = directory.path() + "/log";
    constexpr int lines_each = 500;
    {
        std::vector<std::jthread> writers;
        for (int writer = 0; writer < 4; ++writer)
            writers.emplace_back([&path, writer] {
                const AppendFile file = std::move(*AppendFile::open(path));
                const std::string line(20 + writer, static_cast<char>('a' + writer));
                for (int count = 0; count < lines_each; ++count)
                    ASSERT_TRUE(file.append(line + "\n"));
            });
    }
    const std::string text = read_file(path, 1 << 20).value();
    int counts[4] = {};
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t to = text.find('\n', from);
        const int writer = text[from] - 'a';
        ASSERT_EQ(text.substr(from, to - from), std::string(20 + writer, text[from]));
        ++counts[writer];
        from = to + 1;
    }
    for (const int count : counts)
        EXPECT_EQ(count, lines_each);
}

} // namespace
} // namespace deadman::platform
