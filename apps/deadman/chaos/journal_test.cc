#include "apps/deadman/chaos/journal.h"

#include <gtest/gtest.h>

#include "deadman/platform/process.h"

namespace deadman::chaos {
namespace {

const store::RunKey run{domain::JobId{12}, domain::Fence{34}};

TEST(JournalEntry, SurvivesBeingWrittenAndRead) {
    const JournalEntry entry{.at = base::from_micros(1'700'000'000'123'456),
                             .pid = 77,
                             .note = Note::refused,
                             .run = run,
                             .detail = "fenced: not yours\nany more"};
    const std::string line = format_entry(entry);
    ASSERT_EQ(line.back(), '\n');
    const auto read = parse_entry(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->at, entry.at);
    EXPECT_EQ(read->pid, 77);
    EXPECT_EQ(read->note, Note::refused);
    EXPECT_EQ(read->run, run);
    EXPECT_EQ(read->detail, "fenced: not yours any more");
}

TEST(JournalEntry, IsNotMadeOutOfRubbish) {
    for (const char* line : {"", "x", "1 2 starts 3", "1 2 flies 3 4 ", "1 2 starts 3 4x ", "1  2"})
        EXPECT_FALSE(parse_entry(line)) << line;
}

TEST(JournalReader, ReadsEachLineOnceAndWaitsForTheEndOfALine) {
    const auto directory = std::move(*platform::TemporaryDirectory::create("deadman-journal-test"));
    const std::string path = directory.path() + "/journal";
    base::SimulatedClock clock;
    JournalReader reader(path);
    EXPECT_TRUE(reader.read_new().empty()) << "there is no file yet";

    const Journal journal = std::move(*Journal::open(path, clock));
    journal.write(Note::starts, run);
    journal.write(Note::dies, run, "during");
    const auto first = reader.read_new();
    ASSERT_EQ(first.size(), 2U);
    EXPECT_EQ(first[1].note, Note::dies);
    EXPECT_EQ(first[1].detail, "during");
    EXPECT_EQ(first[1].pid, platform::current_pid());
    EXPECT_TRUE(reader.read_new().empty());

    const platform::AppendFile raw = std::move(*platform::AppendFile::open(path));
    ASSERT_TRUE(raw.append("5 6 wakes 7 8"));
    EXPECT_TRUE(reader.read_new().empty());
    ASSERT_TRUE(raw.append(" \n"));
    EXPECT_EQ(reader.read_new().size(), 1U);
}

} // namespace
} // namespace deadman::chaos
