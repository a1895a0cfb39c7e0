// What is shown is safe to show, and what stands in a row stays in it.

#include <gtest/gtest.h>

#include "apps/deadman/command_line.h"
#include "apps/deadman/json_text.h"
#include "apps/deadman/local_time.h"
#include "apps/deadman/output.h"

namespace deadman::cli {
namespace {

TEST(OneLine, TakesOutWhatATerminalWouldObey) {
    EXPECT_EQ(one_line("a\x1b[31mb"), "a[31mb");
    EXPECT_EQ(one_line("a\xc2\x9b"
                       "2Jb"),
              "a2Jb"); // CSI as one character
    EXPECT_EQ(one_line("a\u202Eb\u2066c\u200Bd\uFEFF"), "abcd");
    EXPECT_EQ(one_line("a\nb\tc\rd\x7F"), "a b cd");
}

TEST(OneLine, MendsBrokenText) {
    EXPECT_EQ(one_line("a\xff"
                       "b"),
              "a\uFFFDb");
}

TEST(OneLine, KeepsWhatIsOnlyForeign) {
    EXPECT_EQ(one_line("Grüße, 世界 😀"), "Grüße, 世界 😀");
}

TEST(CutTo, CutsBetweenCharacters) {
    EXPECT_EQ(cut_to("äöü", 3), "äöü");
    EXPECT_EQ(cut_to("äöüß", 3), "äö…");
    EXPECT_EQ(cut_to("", 3), "");
}

TEST(Table, PadsByCharactersAndKeepsARowOnItsLine) {
    Table table({"NAME", "X"});
    table.add({"äö", "1\n2"});
    table.add({"long name", ""});
    EXPECT_EQ(table.text(), "NAME       X\näö         1 2\nlong name\n");
}

TEST(JsonString, EscapesWhatJsonForbids) {
    EXPECT_EQ(json_string("a\"b\\c\n\x01"), R"("a\"b\\c\u000a\u0001")");
}

TEST(Nearest, FindsOneSlipAndNotAnotherWord) {
    EXPECT_EQ(nearest("lsit", {"list", "show", "wait"}), "list");
    EXPECT_EQ(nearest("--sate", {"--state", "--store"}), "--state");
    EXPECT_EQ(nearest("frobnicate", {"list", "show", "wait"}), "");
    EXPECT_EQ(nearest("", {"list"}), "");
}

TEST(RoughDuration, NeverGoesBelowZero) {
    using namespace std::chrono_literals;
    EXPECT_EQ(rough_duration(-5s), "0 s");
    EXPECT_EQ(rough_duration(99s), "99 s");
    EXPECT_EQ(rough_duration(3h), "3 h");
    EXPECT_EQ(rough_duration(30 * 24h), "30 d");
}

} // namespace
} // namespace deadman::cli
