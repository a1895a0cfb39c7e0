// Goal: exactly the well-formed sequences are accepted. Method: the corners of the table, then
// every code point encoded by a second implementation.

#include "deadman/base/utf8.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace deadman::base {
namespace {

std::string encode(unsigned point) {
    std::string text;
    const auto put = [&](unsigned byte) { text += static_cast<char>(byte); };
    if (point < 0x80) {
        put(point);
    } else if (point < 0x800) {
        put(0xC0 | point >> 6);
        put(0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        put(0xE0 | point >> 12);
        put(0x80 | (point >> 6 & 0x3F));
        put(0x80 | (point & 0x3F));
    } else {
        put(0xF0 | point >> 18);
        put(0x80 | (point >> 12 & 0x3F));
        put(0x80 | (point >> 6 & 0x3F));
        put(0x80 | (point & 0x3F));
    }
    return text;
}

TEST(Utf8, AcceptsEveryCodePointButSurrogates) {
    for (unsigned point = 0; point <= 0x10FFFF; ++point) {
        const std::string text = encode(point);
        const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
        const Utf8Step step = utf8_step(text, 0);
        ASSERT_EQ(step.valid, !surrogate) << point;
        if (!surrogate) {
            ASSERT_EQ(step.length, text.size()) << point;
        }
    }
    EXPECT_FALSE(utf8_step(encode(0x110000), 0).valid);
}

TEST(Utf8, RefusesOverlongFormsAndStrayBytes) {
    const std::vector<std::string> bad{
        "\xC0\x80",  "\xC1\xBF",     "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\x80",
        "\xBF",      "\xFE",         "\xFF",         "\xF5\x80\x80\x80", "\xC3(",
        "\xE2\x82(", "\xF0\x9F\x98("};
    for (const std::string& text : bad)
        EXPECT_EQ(find_invalid_utf8(text), 0U) << testing::PrintToString(text);
}

TEST(Utf8, AnUnfinishedSequenceIsAsLongAsWhatIsThere) {
    EXPECT_EQ(utf8_step("\xE2\x82", 0).length, 2U);
    EXPECT_EQ(utf8_step("\xF0\x9F\x98", 0).length, 3U);
    EXPECT_EQ(utf8_step("\xE2(", 0).length, 1U);
    EXPECT_FALSE(utf8_step("\xE2\x82", 0).valid);
}

TEST(Utf8, NamesTheFirstBadByte) {
    EXPECT_EQ(find_invalid_utf8("gr\xC3\xBC\xC3\x9F"
                                "e"),
              std::string_view::npos);
    EXPECT_EQ(find_invalid_utf8("gr\xC3\xBC\xFF"), 4U);
    EXPECT_EQ(find_invalid_utf8(""), std::string_view::npos);
}

} // namespace
} // namespace deadman::base
