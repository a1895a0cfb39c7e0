#include "apps/deadman/demo/file_sample.h"

#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deadman/platform/paths.h"

namespace deadman::demo {
namespace {

using testing::UnorderedElementsAre;

class FileSample : public testing::Test {
  protected:
    void write(const std::string& name, std::size_t bytes) {
        const std::filesystem::path path = root() + "/" + name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << std::string(bytes, 'x');
    }

    std::string root() const {
        return directory_.path();
    }

    SampleRequest request(std::size_t count, std::uint64_t seed = 1) const {
        return {.root = root(), .count = count, .min_bytes = 10, .max_bytes = 100, .seed = seed};
    }

    std::vector<std::string> names(const SampleRequest& asked) const {
        std::vector<std::string> names;
        const auto files = sample_files(asked).value();
        for (const SampledFile& file : files)
            names.push_back(file.path.substr(root().size() + 1));
        return names;
    }

  private:
    platform::TemporaryDirectory directory_ =
        std::move(*platform::TemporaryDirectory::create("deadman-sample-test"));
};

TEST_F(FileSample, TakesRegularFilesOfAFittingSizeAtAnyDepth) {
    write("small", 9);
    write("low", 10);
    write("a/b/high", 100);
    write("large", 101);
    write("line\nbreak", 50);
    write("back\\slash", 50);
    write("not\xffutf8", 50);
    write("sp ace 'quoted'", 50);
    std::filesystem::create_symlink(root() + "/low", root() + "/link");
    EXPECT_THAT(names(request(100)), UnorderedElementsAre("low", "a/b/high", "sp ace 'quoted'"));
}

TEST_F(FileSample, IsTheSameForTheSameSeedAndAnotherForAnother) {
    for (int index = 0; index < 60; ++index)
        write("file" + std::to_string(index), 20);
    EXPECT_EQ(names(request(20, 5)), names(request(20, 5)));
    EXPECT_NE(names(request(20, 5)), names(request(20, 6)));
    const auto chosen = names(request(20, 5));
    EXPECT_EQ(std::set(chosen.begin(), chosen.end()).size(), 20U) << "no file twice";
}

TEST_F(FileSample, TellsThatThereIsNothing) {
    EXPECT_EQ(sample_files(request(5)).error().code, base::ErrorCode::not_found);
    SampleRequest nowhere = request(5);
    nowhere.root = root() + "/nowhere";
    EXPECT_EQ(sample_files(nowhere).error().code, base::ErrorCode::not_found);
}

TEST_F(FileSample, NoticesThatAFileHasChanged) {
    write("file", 20);
    const SampledFile file = sample_files(request(1)).value().at(0);
    EXPECT_FALSE(has_changed(file));
    write("file", 21);
    EXPECT_TRUE(has_changed(file));
    std::filesystem::remove(root() + "/file");
    EXPECT_TRUE(has_changed(file));
}

} // namespace
} // namespace deadman::demo
