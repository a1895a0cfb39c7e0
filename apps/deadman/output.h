#pragma once
// Output: what a verb prints, as a table for people or as JSON for programs.
//
// Contract:      results go to standard output, everything else to standard error. What a table
// shows
//                holds no control character, whatever a job's text holds: a terminal obeys nothing
//                of it. JSON text is the API's own, byte for byte, but for control characters on a
//                terminal, which are escaped there.
// Thread-safety: external synchronization.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/deadman/exit_codes.h"
#include "deadman/base/error.h"
#include "deadman/base/result.h"

namespace deadman::cli {

enum class OutputFormat { table, json, jsonl };

std::optional<OutputFormat> parse_output_format(std::string_view name);

/// One line that is safe to show: control characters, direction marks and broken UTF-8 are taken
/// out, line breaks become spaces.
std::string one_line(std::string_view text);

/// The same for text of several lines.
std::string several_lines(std::string_view text);

/// The exit code of a verb whose output was meant to be read: exit_error, and a word about it,
/// where not all of it could be written and nothing worse happened. A reader that has left (`|
/// head`) wanted no more.
int after_output(int exit_code);

/// `text` cut to `width` characters, the last of them "…" where something is missing.
std::string cut_to(std::string_view text, std::size_t width);

/// Columns padded to the widest cell. Cells are cleaned by one_line.
class Table {
  public:
    explicit Table(std::vector<std::string> header);

    void add(std::vector<std::string> row);
    std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_; // the header first
};

/// To standard output, unchanged.
void print(std::string_view text);

/// JSON text to standard output, with a newline. jsonl: on one line.
void print_json(std::string_view json);
void print_json_line(std::string_view json);

/// json: {"items": [...]}; jsonl: one a line. REQUIRES: not table.
void print_items(std::span<const std::string> items, OutputFormat format);

/// "deadman: MESSAGE" to standard error, cleaned.
void say(std::string_view message);

/// Says the error, and gives what to exit with.
int report(const base::Error& error);

/// What a verb came to: its own exit code, or its error, reported.
int exit_code_after(const base::Result<int>& verb);

} // namespace deadman::cli
