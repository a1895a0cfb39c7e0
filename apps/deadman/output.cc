#include "apps/deadman/output.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "apps/deadman/json_text.h"
#include "deadman/base/utf8.h"
#include "deadman/platform/terminal.h"

namespace deadman::cli {
namespace {

/// Of the first write to standard output that failed; 0: none did.
std::atomic<int> output_error{0};

/// The code point of a valid sequence.
char32_t code_point(std::string_view bytes) {
    const auto lead = static_cast<unsigned char>(bytes[0]);
    if (bytes.size() == 1)
        return lead;
    char32_t value = lead & (0xFFU >> (bytes.size() + 1));
    for (const char c : bytes.substr(1))
        value = (value << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
    return value;
}

bool is_control(char32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

/// Marks that reorder or hide what stands beside them.
bool is_direction_mark(char32_t c) {
    return (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x2069) || c == 0xFEFF || c == 0x061C;
}

std::string cleaned(std::string_view text, std::string_view line_break) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const base::Utf8Step step = base::utf8_step(text, at);
        const std::string_view bytes = text.substr(at, step.length);
        at += step.length;
        if (!step.valid) {
            clean += base::replacement_character;
            continue;
        }
        const char32_t c = code_point(bytes);
        if (c == '\n')
            clean += line_break;
        else if (c == '\t')
            clean += ' ';
        else if (!is_control(c) && !is_direction_mark(c))
            clean += bytes;
    }
    return clean;
}

/// How many characters. Wide and combining ones are counted as one: a table may then be ragged.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    }));
}

/// Valid JSON holds control characters beyond ASCII only inside strings, where an escape means the
/// same.
std::string escape_controls(std::string_view json) {
    std::string safe;
    for (std::size_t at = 0; at < json.size();) {
        const base::Utf8Step step = base::utf8_step(json, at);
        const std::string_view bytes = json.substr(at, step.length);
        at += step.length;
        const char32_t c = step.valid ? code_point(bytes) : U'?';
        if (c >= 0x7F && (is_control(c) || is_direction_mark(c))) {
            char escaped[16];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
            safe += escaped;
        } else {
            safe += bytes;
        }
    }
    return safe;
}

} // namespace

std::optional<OutputFormat> parse_output_format(std::string_view name) {
    if (name == "table")
        return OutputFormat::table;
    if (name == "json")
        return OutputFormat::json;
    if (name == "jsonl")
        return OutputFormat::jsonl;
    return std::nullopt;
}

std::string one_line(std::string_view text) {
    return cleaned(text, " ");
}

std::string several_lines(std::string_view text) {
    return cleaned(text, "\n");
}

std::string cut_to(std::string_view text, std::size_t width) {
    if (width_of(text) <= width)
        return std::string(text);
    std::size_t at = 0;
    for (std::size_t kept = 0; kept + 1 < width; ++kept)
        at += base::utf8_step(text, at).length;
    return std::string(text.substr(0, at)) + "…";
}

Table::Table(std::vector<std::string> header) {
    rows_.push_back(std::move(header));
}

void Table::add(std::vector<std::string> row) {
    for (std::string& cell : row)
        cell = one_line(cell);
    row.resize(rows_.front().size());
    rows_.push_back(std::move(row));
}

std::string Table::text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_)
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], width_of(row[column]));
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            line += row[column];
            line.append(widths[column] - width_of(row[column]) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

void print(std::string_view text) {
    const bool written =
        std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (!written && output_error == 0)
        output_error = errno;
}

int after_output(int exit_code) {
    if (output_error == 0 || output_error == EPIPE || exit_code != exit_ok)
        return exit_code;
    say("the output could not be written: " + std::generic_category().message(output_error));
    return exit_error;
}

void print_json(std::string_view json) {
    std::string text = platform::stdout_is_terminal() ? escape_controls(json) : std::string(json);
    print(text + '\n');
}

void print_json_line(std::string_view json) {
    // A line break of valid JSON is white space between its parts.
    std::string line(json);
    std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    print_json(line);
}

void print_items(std::span<const std::string> items, OutputFormat format) {
    if (format == OutputFormat::jsonl) {
        for (const std::string& item : items)
            print_json_line(item);
        return;
    }
    JsonArray list;
    for (const std::string& item : items)
        list.raw(item);
    print_json(JsonObject().raw("items", list.str()).str());
}

void say(std::string_view message) {
    std::string text = "deadman: ";
    for (const char c : several_lines(message)) {
        text += c;
        if (c == '\n')
            text += "deadman: ";
    }
    text += '\n';
    std::fwrite(text.data(), 1, text.size(), stderr);
}

int report(const base::Error& error) {
    say(error.message);
    return exit_code_of(error.code);
}

int exit_code_after(const base::Result<int>& verb) {
    return verb ? after_output(*verb) : report(verb.error());
}

} // namespace deadman::cli
