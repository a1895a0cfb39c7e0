#pragma once
// Whom the verbs talk to: the store of --store, else the server at --url.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/deadman/backend.h"
#include "apps/deadman/output.h"
#include "deadman/base/clock.h"

namespace deadman::cli {

inline constexpr const char* default_url = "http://127.0.0.1:7350";

/// The flags that all verbs about jobs, queues and workers share.
struct Surface {
    std::optional<std::string> store;
    std::string url = default_url;
    std::string token_file;
    OutputFormat output = OutputFormat::table;
    bool enqueues = false; // then the configuration's limits hold for --store as well
};

void add_surface(CLI::App& verb, Surface& surface);

/// -o alone.
void add_output(CLI::App& verb, OutputFormat& output);

base::Result<std::unique_ptr<JobBackend>> connect(const Surface& surface, base::Clock& clock);

/// Connects and runs `body`. Where a right was wanting that is said, and its exit code is the
/// result.
base::Result<int> on_backend(const Surface& surface, base::Clock& clock,
                             const std::function<base::Result<int>(JobBackend&)>& body);

} // namespace deadman::cli
