#pragma once
// The journal: what workers say of themselves, in a file that outlives them. Only for the report's
// times and for waking paused workers: whether a run of the harness passed is asked of the store
// alone.
//
// Thread-safety: Journal safe for concurrent use; JournalReader external synchronization.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/platform/paths.h"
#include "deadman/store/job_types.h"

namespace deadman::chaos {

enum class Note {
    starts,  // a handler was called
    dies,    // ... and is about to kill its process; detail: the stage
    pauses,  // ... or to stop it; detail: the stage
    wakes,   // it goes on after a pause
    effect,  // the effect is committed, so far as the handler was told
    refused, // the handler was told that nothing was written; detail: why
    skips,   // two-stores: the mark was there already
};

std::string_view note_name(Note note);

struct JournalEntry {
    base::TimePoint at;
    int pid = 0;
    Note note = Note::starts;
    store::RunKey run;
    std::string detail; // one line
};

std::string format_entry(const JournalEntry& entry);
std::optional<JournalEntry> parse_entry(std::string_view line);

class Journal {
  public:
    static base::Result<Journal> open(const std::string& path, base::Clock& clock);

    void write(Note note, const store::RunKey& run, std::string_view detail = {}) const;

  private:
    Journal(platform::AppendFile file, base::Clock& clock);

    platform::AppendFile file_;
    base::Clock* clock_;
};

/// Reads what has been added since the last call.
class JournalReader {
  public:
    explicit JournalReader(std::string path);

    std::vector<JournalEntry> read_new();

  private:
    std::string path_;
    std::int64_t offset_ = 0;
};

} // namespace deadman::chaos
