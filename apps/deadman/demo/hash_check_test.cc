#include "apps/deadman/demo/hash_check.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/deadman/chaos/file_hash.h"
#include "deadman/platform/paths.h"

namespace deadman::demo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HashCheckTest : public testing::Test {
  protected:
    void SetUp() override {
        const StoreUrl url{.kind = StoreUrl::Kind::sqlite,
                           .target = directory_.path() + "/x.db",
                           .automatic = false};
        auto opened = chaos::open_probe(url, "default");
        ASSERT_TRUE(opened) << opened.error().message;
        probe_ = std::move(*opened);
        ASSERT_TRUE(probe_->execute("CREATE TABLE hashes (path TEXT, sha256 TEXT)"));
    }

    SampledFile file(const std::string& name) {
        const std::string path = directory_.path() + "/" + name;
        std::ofstream(path) << "contents of " << name;
        return {path, std::filesystem::file_size(path), std::filesystem::last_write_time(path)};
    }

    void row(const SampledFile& file, const std::string& hash) {
        std::string path = file.path;
        if (const auto quote = path.find('\''); quote != std::string::npos)
            path.insert(quote, "'");
        ASSERT_TRUE(probe_->execute("INSERT INTO hashes VALUES ('" + path + "', '" + hash + "')"));
    }

    void right_row(const SampledFile& file) {
        row(file, chaos::sha256_of_file(file.path).value());
    }

    HashCheck check(const std::vector<SampledFile>& files) {
        auto checked = check_hashes(*probe_, "hashes", files);
        EXPECT_TRUE(checked) << checked.error().message;
        return std::move(*checked);
    }

  private:
    platform::TemporaryDirectory directory_ =
        std::move(*platform::TemporaryDirectory::create("deadman-hash-check-test"));
    std::unique_ptr<chaos::Probe> probe_;
};

TEST_F(HashCheckTest, AgreesWithSha256sum) {
    const std::vector<SampledFile> files{file("plain"), file("it's odd")};
    for (const SampledFile& one : files)
        right_row(one);
    const HashCheck found = check(files);
    EXPECT_EQ(found.equal, 2);
    EXPECT_THAT(found.wrong, IsEmpty());
}

TEST_F(HashCheckTest, NamesRowsThatAreMissingDoubledOrWrong) {
    const std::vector<SampledFile> files{file("missing"), file("doubled"), file("wrong")};
    right_row(files[1]);
    right_row(files[1]);
    row(files[2], std::string(64, '0'));
    EXPECT_THAT(check(files).wrong, ElementsAre(files[0].path, files[1].path, files[2].path));
}

TEST_F(HashCheckTest, NamesFilesThatChangedMeanwhileApart) {
    const std::vector<SampledFile> files{file("changed"), file("gone")};
    for (const SampledFile& one : files)
        right_row(one);
    std::ofstream(files[0].path) << "something else";
    std::filesystem::remove(files[1].path);
    const HashCheck found = check(files);
    EXPECT_THAT(found.changed, ElementsAre(files[0].path, files[1].path));
    EXPECT_THAT(found.wrong, IsEmpty());
}

} // namespace
} // namespace deadman::demo
