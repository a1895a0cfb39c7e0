#pragma once
// A worker process that stops itself at a chosen place, with a chosen number of runs in hand.

#include <optional>
#include <string>
#include <vector>

#include "apps/deadman/store_url.h"
#include "deadman/base/result.h"

namespace deadman::chaos_test {

/// Where the process stops.
enum class Place {
    nowhere,        // works on
    in_handler,     // before context.transaction()
    before_answer,  // effect written outside of any transaction of ours, with a guard of its own
    after_commit,   // context.transaction() has returned
    in_transaction, // effect written, not committed
    without_worker, // no Worker at all: a session that claims, and after the pause ends its runs by
                    // complete() and transact() as if nothing had happened: the worst that can be
};

struct PausingWorkerOptions {
    StoreUrl store;
    Place place = Place::nowhere;
    int runs = 1;       // slots, and runs in hand when it stops
    std::string folder; // journal, log
};

inline constexpr const char* queue = "paused";
inline constexpr const char* kind = "paused_kind";
inline constexpr const char* effects = "paused_effect";
inline constexpr base::Duration lease = std::chrono::seconds(2);

std::string journal_of(const std::string& folder);
std::string log_of(const std::string& folder);

/// What main() of this test is called with to be such a process.
std::vector<std::string> command_line(const PausingWorkerOptions& options);

/// Nothing: this is the test itself.
std::optional<PausingWorkerOptions> parse_command_line(int argc, char** argv);

int be_pausing_worker(const PausingWorkerOptions& options);

} // namespace deadman::chaos_test
