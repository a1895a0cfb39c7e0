#include "deadman/telemetry/internal/log_text.h"

#include <charconv>
#include <cmath>
#include <format>

#include "deadman/base/time_text.h"
#include "deadman/base/utf8.h"

namespace deadman::telemetry {
namespace {

std::string number_text(double value) {
    std::array<char, 32> digits{};
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} ? std::string(digits.data(), end) : "0";
}

/// U+0080 to U+009F steer terminals as the control characters below U+0020 do.
bool is_control(std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (first < 0x20 || first == 0x7F)
        return true;
    return first == 0xC2 && character.size() == 2 &&
           static_cast<unsigned char>(character[1]) < 0xA0;
}

unsigned code_point_of_control(std::string_view character) {
    return static_cast<unsigned char>(character.back());
}

/// Text for between double quotes, in JSON and on a console alike: valid UTF-8 without control
/// characters, at most about max_value_bytes.
std::string escape(std::string_view text) {
    std::string escaped;
    for (std::size_t at = 0; at < text.size();) {
        if (escaped.size() >= max_value_bytes)
            return escaped + "...";
        const base::Utf8Step step = base::utf8_step(text, at);
        const std::string_view character = text.substr(at, step.length);
        at += step.length;
        if (!step.valid)
            escaped += base::replacement_character;
        else if (character == "\"" || character == "\\")
            (escaped += '\\') += character;
        else if (character == "\n")
            escaped += "\\n";
        else if (is_control(character))
            escaped += std::format("\\u{:04x}", code_point_of_control(character));
        else
            escaped += character;
    }
    return escaped;
}

std::string in_quotes(std::string_view text) {
    return '"' + escape(text) + '"';
}

std::string json_value(const FieldValue& value) {
    if (const auto* text = std::get_if<std::string>(&value))
        return in_quotes(*text);
    if (const auto* number = std::get_if<double>(&value); number && !std::isfinite(*number))
        return in_quotes(number_text(*number));
    return value_text(value);
}

/// Words stand as they are; what has a blank, a quote or an equals sign is quoted.
std::string console_value(const FieldValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (!text)
        return value_text(value);
    std::string inner = escape(*text);
    const bool plain = !inner.empty() && inner.find_first_of(" =\\\"") == std::string::npos;
    return plain ? inner : '"' + inner + '"';
}

} // namespace

std::string value_text(const FieldValue& value) {
    if (const auto* flag = std::get_if<bool>(&value))
        return *flag ? "true" : "false";
    if (const auto* number = std::get_if<std::int64_t>(&value))
        return std::to_string(*number);
    if (const auto* natural = std::get_if<std::uint64_t>(&value))
        return std::to_string(*natural);
    if (const auto* real = std::get_if<double>(&value))
        return number_text(*real);
    return std::get<std::string>(value);
}

std::string format_json(const Event& event) {
    std::string line = "{\"ts\":\"" + base::format_rfc3339(event.time) + "\",\"level\":\"";
    line += level_name(event.level);
    line += "\",\"event\":" + in_quotes(event.name);
    for (const Field& field : event.fields)
        line += "," + in_quotes(field.name) + ":" + json_value(field.value);
    return line + "}";
}

std::string format_console(const Event& event) {
    std::string time = base::format_rfc3339(event.time).substr(0, 23) + "Z";
    time[10] = ' ';
    std::string line =
        std::format("{} {:<5} {}", time, level_name(event.level), escape(event.name));
    for (const Field& field : event.fields)
        line += " " + escape(field.name) + "=" + console_value(field.value);
    return line;
}

} // namespace deadman::telemetry
