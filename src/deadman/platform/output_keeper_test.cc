// Goal: what a stream leaves behind is bounded, and says what is missing.

#include "deadman/platform/output_keeper.h"

#include <gtest/gtest.h>

namespace deadman::platform {
namespace {

TEST(OutputKeeper, KeepsAShortStreamWhole) {
    OutputKeeper keeper(10);
    keeper.add("12345");
    keeper.add("67890");
    EXPECT_EQ(keeper.text(), "1234567890");
    EXPECT_FALSE(keeper.is_truncated());
}

TEST(OutputKeeper, KeepsHeadAndTailOfALongOne) {
    OutputKeeper keeper(10);
    for (int i = 0; i < 1'000; ++i)
        keeper.add("abc");
    EXPECT_TRUE(keeper.is_truncated());
    EXPECT_EQ(keeper.text(), "abcab\n[... 2990 bytes left out ...]\nbcabc");
}

TEST(OutputKeeper, GivesHeadAndTailWithinABoundOfTheMoment) {
    OutputKeeper whole(10);
    whole.add("1234567890");
    EXPECT_EQ(whole.text(10), "1234567890");
    EXPECT_EQ(whole.text(20), "1234567890");
    EXPECT_EQ(whole.text(5), "12\n[... 5 bytes left out ...]\n890");
    OutputKeeper cut(10);
    cut.add("1234567890abcdefghij");
    EXPECT_EQ(cut.text(4), "12\n[... 16 bytes left out ...]\nij");
    EXPECT_EQ(cut.text(0), "\n[... 20 bytes left out ...]\n");
}

TEST(OutputKeeper, OnePieceOrManyGiveTheSame) {
    std::string stream;
    OutputKeeper bytewise(7);
    for (int i = 0; i < 100; ++i) {
        stream += static_cast<char>('a' + i % 26);
        bytewise.add(stream.substr(stream.size() - 1));
        OutputKeeper at_once(7);
        at_once.add(stream);
        ASSERT_EQ(bytewise.text(), at_once.text()) << i;
    }
}

} // namespace
} // namespace deadman::platform
