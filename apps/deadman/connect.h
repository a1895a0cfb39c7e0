#pragma once
// Whom the verbs talk to: the store of --store, else the server at --url.

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "apps/deadman/backend.h"
#include "apps/deadman/output.h"
#include "deadman/base/clock.h"

namespace deadman::cli {

inline constexpr const char* default_url = "http://127.0.0.1:7350";

/// The flags that all verbs about jobs, queues and workers share.
struct Surface {
    std::string store;
    std::string url;
    std::string token_file;
    OutputFormat output = OutputFormat::table;
};

void add_surface(CLI::App& verb, Surface& surface);

/// -o alone.
void add_output(CLI::App& verb, OutputFormat& output);

base::Result<std::unique_ptr<JobBackend>> connect(const Surface& surface, base::Clock& clock);

} // namespace deadman::cli
