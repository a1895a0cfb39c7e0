#pragma once
// The verbs below `deadman bench`.

#include <CLI/CLI.hpp>

namespace deadman::bench {

void add_verbs(CLI::App& bench, int& exit_code);

} // namespace deadman::bench
