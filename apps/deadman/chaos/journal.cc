#include "apps/deadman/chaos/journal.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

#include "deadman/platform/process.h"

namespace deadman::chaos {
namespace {

constexpr Note notes[] = {Note::starts, Note::dies,    Note::pauses, Note::wakes,
                          Note::effect, Note::refused, Note::skips};

std::string_view next_word(std::string_view& line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    return word;
}

template <typename Number> bool read_number(std::string_view& line, Number& number) {
    const std::string_view word = next_word(line);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc{} && end == word.data() + word.size() && !word.empty();
}

} // namespace

std::string_view note_name(Note note) {
    switch (note) {
    case Note::starts:
        return "starts";
    case Note::dies:
        return "dies";
    case Note::pauses:
        return "pauses";
    case Note::wakes:
        return "wakes";
    case Note::effect:
        return "effect";
    case Note::refused:
        return "refused";
    case Note::skips:
        break;
    }
    return "skips";
}

std::string format_entry(const JournalEntry& entry) {
    std::string line = std::to_string(base::to_micros(entry.at)) + ' ' + std::to_string(entry.pid);
    line += ' ';
    line += note_name(entry.note);
    line += ' ' + std::to_string(entry.run.job.value) + ' ' + std::to_string(entry.run.fence.value);
    line += ' ' + entry.detail;
    for (char& c : line)
        if (c == '\n')
            c = ' ';
    return line + '\n';
}

std::optional<JournalEntry> parse_entry(std::string_view line) {
    JournalEntry entry;
    std::int64_t micros = 0;
    if (!read_number(line, micros) || !read_number(line, entry.pid))
        return std::nullopt;
    entry.at = base::from_micros(micros);
    const std::string_view name = next_word(line);
    bool known = false;
    for (const Note note : notes)
        if (note_name(note) == name) {
            entry.note = note;
            known = true;
        }
    if (!known || !read_number(line, entry.run.job.value) ||
        !read_number(line, entry.run.fence.value))
        return std::nullopt;
    entry.detail = line;
    return entry;
}

base::Result<Journal> Journal::open(const std::string& path, base::Clock& clock) {
    DEADMAN_TRY(auto file, platform::AppendFile::open(path));
    return Journal(std::move(file), clock);
}

Journal::Journal(platform::AppendFile file, base::Clock& clock)
    : file_(std::move(file)), clock_(&clock) {}

void Journal::write(Note note, const store::RunKey& run, std::string_view detail) const {
    // A full disk makes the report poorer; the verdict does not need the journal.
    (void)file_.append(format_entry({.at = clock_->now(),
                                     .pid = platform::current_pid(),
                                     .note = note,
                                     .run = run,
                                     .detail = std::string(detail)}));
}

JournalReader::JournalReader(std::string path) : path_(std::move(path)) {}

std::vector<JournalEntry> JournalReader::read_new() {
    std::vector<JournalEntry> entries;
    std::ifstream file(path_, std::ios::binary);
    file.seekg(offset_);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::size_t from = 0;
    for (std::size_t to = 0; (to = text.find('\n', from)) != std::string::npos; from = to + 1)
        if (auto entry = parse_entry(std::string_view(text).substr(from, to - from)))
            entries.push_back(std::move(*entry));
    offset_ += static_cast<std::int64_t>(from);
    return entries;
}

} // namespace deadman::chaos
