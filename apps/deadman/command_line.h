#pragma once
// What a wrong command line is answered with: what is wrong, and what may have been meant.

#include <string>
#include <string_view>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): not ours
class App;
class ParseError;
} // namespace CLI

namespace deadman::cli {

/// The name fewest slips away from `word`; empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

/// After app.parse() threw: help on standard output and 0, or one line and a hint on standard error
/// and 2.
int explain(const CLI::App& app, const CLI::ParseError& error);

/// For what the parser cannot see: `message`, then where the help is. 2.
int usage_error(const CLI::App& verb, std::string_view message);

} // namespace deadman::cli
