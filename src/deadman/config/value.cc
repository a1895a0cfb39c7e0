#include "deadman/config/internal/value.h"

#include <charconv>
#include <format>
#include <limits>
#include <optional>

#include "deadman/base/duration_text.h"
#include "deadman/base/utf8.h"

namespace deadman::config {
namespace {

using base::ErrorCode;

base::Error refuse(const Option& option, std::string_view given) {
    std::string shown;
    for (const char c : given.substr(0, 60))
        shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    return base::fail(ErrorCode::invalid_argument,
                      "must be " + allowed(option) + ", is '" + shown + "'");
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
    std::int64_t unit = 1;
    const auto ends = [&](std::string_view suffix, std::int64_t size) {
        if (!text.ends_with(suffix))
            return false;
        text.remove_suffix(suffix.size());
        unit = size;
        return true;
    };
    (void)(ends("KiB", 1 << 10) || ends("MiB", 1 << 20) || ends("GiB", 1 << 30) || ends("B", 1));
    const auto number = parse_integer(text);
    if (!number || *number < 0 || *number > std::numeric_limits<std::int64_t>::max() / unit)
        return std::nullopt;
    return *number * unit;
}

bool in_range(const Option& option, std::int64_t number) {
    return number >= option.least && number <= option.most;
}

bool is_clean(std::string_view text) {
    return base::find_invalid_utf8(text) == std::string_view::npos &&
           text.find('\0') == std::string_view::npos;
}

/// "127.0.0.1:7350", "[::1]:7350", "localhost:0"
bool is_address(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0)
        return false;
    const std::string_view host = text.substr(0, colon);
    const bool bracketed = host.front() == '[' && host.back() == ']' && host.size() > 2;
    if (!bracketed && host.find_first_of(":[] /") != std::string_view::npos)
        return false;
    const auto port = parse_integer(text.substr(colon + 1));
    return port && *port >= 0 && *port <= 65535;
}

bool is_choice(std::string_view choices, std::string_view text) {
    while (!choices.empty()) {
        const std::string_view one = choices.substr(0, choices.find('|'));
        if (one == text)
            return true;
        choices.remove_prefix(std::min(choices.size(), one.size() + 1));
    }
    return false;
}

TextList split(std::string_view text) {
    TextList list;
    while (!text.empty()) {
        const std::string_view one = text.substr(0, text.find(','));
        list.emplace_back(one);
        text.remove_prefix(std::min(text.size(), one.size() + 1));
    }
    return list;
}

base::Result<Value> checked_list(const Option& option, TextList list) {
    if (!in_range(option, static_cast<std::int64_t>(list.size())))
        return refuse(option, std::to_string(list.size()) + " entries");
    for (std::size_t i = 0; i < list.size(); ++i)
        // An argument may be empty; a program or a queue may not.
        if (!is_clean(list[i]) || (list[i].empty() && (i == 0 || !option.flag.empty())))
            return refuse(option, list[i]);
    return Value{std::move(list)};
}

base::Result<Value> checked_text(const Option& option, std::string_view text, bool valid) {
    if (text.empty() || !is_clean(text) || !valid)
        return refuse(option, text);
    return Value{std::string(text)};
}

base::Result<Value> checked_number(const Option& option, std::string_view text,
                                   std::optional<std::int64_t> number) {
    if (!number || !in_range(option, *number))
        return refuse(option, text);
    return Value{*number};
}

base::Result<Value> checked_duration(const Option& option, std::string_view text) {
    const auto duration = base::parse_duration(text);
    if (!duration || !in_range(option, duration->count()))
        return refuse(option, text);
    return Value{*duration};
}

std::string kind_of(const RawValue& raw) {
    if (std::holds_alternative<TextList>(raw))
        return "a list";
    if (std::holds_alternative<TextTable>(raw))
        return "a table";
    if (const auto* flag = std::get_if<bool>(&raw))
        return *flag ? "true" : "false";
    if (const auto* number = std::get_if<std::int64_t>(&raw))
        return std::to_string(*number);
    return "something else";
}

base::Result<Value> checked_table(const Option& option, const TextTable& table) {
    for (const auto& [name, text] : table) {
        const bool bad_name = name.empty() || name.find('=') != std::string::npos;
        if (bad_name || !is_clean(name) || !is_clean(text))
            return refuse(option, name);
    }
    return Value{table};
}

} // namespace

base::Result<Value> value_from_text(const Option& option, std::string_view text) {
    switch (option.type) {
    case OptionType::text:
    case OptionType::path:
        return checked_text(option, text, true);
    case OptionType::address:
        return checked_text(option, text, is_address(text));
    case OptionType::choice:
        return checked_text(option, text, is_choice(option.choices, text));
    case OptionType::boolean:
        if (text != "true" && text != "false")
            return refuse(option, text);
        return Value{text == "true"};
    case OptionType::integer:
        return checked_number(option, text, parse_integer(text));
    case OptionType::bytes:
        return checked_number(option, text, parse_bytes(text));
    case OptionType::duration:
        return checked_duration(option, text);
    case OptionType::list:
        return checked_list(option, split(text));
    case OptionType::table:
        break;
    }
    return refuse(option, text);
}

base::Result<Value> value_from_raw(const Option& option, const RawValue& raw) {
    const auto* text = std::get_if<std::string>(&raw);
    switch (option.type) {
    case OptionType::boolean:
        if (const auto* flag = std::get_if<bool>(&raw))
            return Value{*flag};
        break;
    case OptionType::integer:
        if (const auto* number = std::get_if<std::int64_t>(&raw))
            return checked_number(option, std::to_string(*number), *number);
        break;
    case OptionType::bytes:
        if (const auto* number = std::get_if<std::int64_t>(&raw))
            return checked_number(option, std::to_string(*number), *number);
        if (text)
            return value_from_text(option, *text);
        break;
    case OptionType::list:
        if (const auto* list = std::get_if<TextList>(&raw))
            return checked_list(option, *list);
        break;
    case OptionType::table:
        if (const auto* table = std::get_if<TextTable>(&raw))
            return checked_table(option, *table);
        break;
    default:
        if (text)
            return value_from_text(option, *text);
        break;
    }
    return refuse(option, text ? '"' + *text + '"' : kind_of(raw));
}

std::string toml_quoted(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            (quoted += '\\') += c;
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
            quoted +=
                std::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            quoted += c;
    }
    return quoted + '"';
}

std::string value_as_toml(const Option& option, const Value& value) {
    if (const auto* flag = std::get_if<bool>(&value))
        return *flag ? "true" : "false";
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
        if (option.type == OptionType::bytes && *number != 0 && *number % 1024 == 0)
            return *number % (1 << 20) == 0 ? toml_quoted(std::to_string(*number >> 20) + "MiB")
                                            : toml_quoted(std::to_string(*number >> 10) + "KiB");
        return std::to_string(*number);
    }
    if (const auto* duration = std::get_if<base::Duration>(&value))
        return toml_quoted(base::format_duration(*duration));
    if (const auto* text = std::get_if<std::string>(&value))
        return toml_quoted(*text);
    std::string inner;
    if (const auto* list = std::get_if<TextList>(&value)) {
        for (const std::string& one : *list)
            inner += (inner.empty() ? "" : ", ") + toml_quoted(one);
        return "[" + inner + "]";
    }
    for (const auto& [name, text] : std::get<TextTable>(value))
        inner += (inner.empty() ? "" : ", ") + toml_quoted(name) + " = " + toml_quoted(text);
    return "{" + inner + "}";
}

} // namespace deadman::config
