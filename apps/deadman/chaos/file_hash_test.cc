#include "apps/deadman/chaos/file_hash.h"

#include <gtest/gtest.h>

#include "deadman/platform/paths.h"

namespace deadman::chaos {
namespace {

TEST(Sha256OfFile, IsTheOneOfTheStandardsExamples) {
    const auto directory = std::move(*platform::TemporaryDirectory::create("deadman-hash-test"));
    const auto hash_of = [&directory](const std::string& contents) {
        const std::string path = directory.path() + "/file";
        EXPECT_TRUE(platform::write_file_atomically(path, contents));
        return sha256_of_file(path).value();
    };
    EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hash_of(std::string(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256OfFile, TellsThatThereIsNone) {
    EXPECT_EQ(sha256_of_file("/no/such/file").error().code, base::ErrorCode::not_found);
}

} // namespace
} // namespace deadman::chaos
