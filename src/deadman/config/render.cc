#include "deadman/config/render.h"

#include <algorithm>
#include <optional>

#include "deadman/base/check.h"
#include "deadman/config/internal/value.h"
#include "deadman/config/option.h"

namespace deadman::config {
namespace {

/// A value that may be written down: the default, or an example where there is no fixed one.
std::string sample_value(const Option& option) {
    const bool worked_out = option.fallback.empty() || option.fallback.front() == '(';
    const std::string_view words = worked_out ? option.example : option.fallback;
    if (option.type == OptionType::table) {
        const std::size_t equals = words.find('=');
        return "{" + std::string(words.substr(0, equals)) + " = " +
               toml_quoted(words.substr(equals + 1)) + "}";
    }
    const auto value = value_from_text(option, words);
    DEADMAN_CHECK(value.has_value());
    return value_as_toml(option, *value);
}

/// Behind an option's sentence: what is allowed and, where the line below does not show it, what
/// holds by default.
std::string remarks(const Option& option) {
    std::string text;
    if (option.least != option.most || !option.choices.empty())
        text = allowed(option);
    std::string otherwise;
    if (option.required)
        otherwise = "required";
    else if (option.fallback.starts_with('('))
        otherwise =
            "default: " + std::string(option.fallback.substr(1, option.fallback.size() - 2));
    if (!text.empty() && !otherwise.empty())
        text += "; ";
    text += otherwise;
    return text.empty() ? text : " (" + text + ")";
}

std::string sample_lines(const Option& option) {
    return "# " + std::string(option.sentence) + remarks(option) + ".\n#" +
           std::string(option.name) + " = " + sample_value(option) + "\n";
}

std::string sample_handler(std::string_view type, std::string_view kind) {
    std::string text =
        "\n#[handlers.\"" + std::string(kind) + "\"]\n#type = \"" + std::string(type) + "\"\n";
    for (const Option& option : handler_options(type))
        text += sample_lines(option);
    return text;
}

std::string reference_row(const Option& option) {
    std::string fallback = option.required ? "required" : "`" + std::string(option.fallback) + "`";
    if (option.fallback.starts_with('('))
        fallback = option.fallback.substr(1, option.fallback.size() - 2);
    std::string others = "-";
    if (!option.flag.empty())
        others = "`--" + std::string(option.flag) + "`, `" + variable_of(option) + "`";
    return "| `" + std::string(option.name) + "` | " + std::string(option.sentence) + " | " +
           allowed(option) + " | " + fallback + " | " + others + " |\n";
}

std::string reference_table(const std::string& title, std::span<const Option> rows,
                            std::string_view section) {
    std::string text = "\n## " + title +
                       "\n\n| key | what it is | allowed | default | flag, variable |\n"
                       "| --- | --- | --- | --- | --- |\n";
    for (const Option& option : rows)
        if (option.section == section)
            text += reference_row(option);
    return text;
}

constexpr std::string_view mask = "***";

/// The end of a libpq value that begins at `from`: 'quoted' or up to a blank or the next parameter.
std::size_t value_end(std::string_view text, std::size_t from) {
    const bool quoted = from < text.size() && text[from] == '\'';
    std::size_t to = quoted ? from + 1 : from;
    while (to < text.size() && (quoted ? text[to] != '\'' : text[to] != ' ' && text[to] != '&'))
        to += text[to] == '\\' ? 2 : 1;
    return std::min(quoted ? to + 1 : to, text.size());
}

/// Where the value begins if an equals sign stands at `from`, behind blanks or not.
std::optional<std::size_t> value_begin(std::string_view text, std::size_t from) {
    from = text.find_first_not_of(' ', from);
    if (from == std::string_view::npos || text[from] != '=')
        return std::nullopt;
    return std::min(text.find_first_not_of(' ', from + 1), text.size());
}

/// Every value of the libpq form whose name ends in password: host=... password='se cret'.
std::string mask_parameters(std::string_view text) {
    constexpr std::string_view word = "password";
    std::string out;
    while (true) {
        const std::size_t found = text.find(word);
        if (found == std::string_view::npos)
            return out.append(text);
        const std::size_t behind = found + word.size();
        const auto begin = value_begin(text, behind);
        out.append(text.substr(0, begin.value_or(behind)));
        if (begin)
            out.append(mask);
        text.remove_prefix(begin ? value_end(text, *begin) : behind);
    }
}

} // namespace

std::string render_sample() {
    std::string text = "# Configuration of Deadman. Every line is a comment, so this file changes "
                       "nothing: take the\n"
                       "# '#' away from what you want to set. A flag wins over a variable of the "
                       "environment, that\n"
                       "# over this file, that over the default. `deadman config show --origin` "
                       "tells what counts.\n"
                       "# Changes take effect when the process starts again.\n";
    std::string_view section;
    for (const Option& option : options()) {
        if (option.section != section)
            text += "\n#[" + std::string(option.section) + "]\n";
        else
            text += "\n";
        section = option.section;
        text += sample_lines(option);
    }
    text += "\n# Handlers: which program, URL or statement runs the jobs of a kind.\n";
    return text + sample_handler("exec", "image.resize") + sample_handler("http", "order.notify") +
           sample_handler("sql", "mail.archive");
}

std::string render_reference() {
    std::string text =
        "# Configuration\n\nGenerated from the option table in `src/deadman/config/options.cc`. "
        "A flag wins over a variable of the\nenvironment, that over the file, that over the "
        "default. "
        "All settings are read when a process starts.\n";
    text += reference_table("At the top", options(), "");
    text += reference_table("[worker]", options(), "worker");
    text += reference_table("[lease]", options(), "lease");
    text += reference_table("[limits]", options(), "limits");
    for (const char* type : {"exec", "http", "sql"})
        text += reference_table("[handlers.KIND] with type = \"" + std::string(type) + "\"",
                                handler_options(type), type);
    return text;
}

std::string render_origin(const Config& config) {
    std::string text =
        "# file: " + (config.file.empty() ? std::string("none") : config.file) + "\n";
    std::string section;
    for (const Shown& shown : config.shown) {
        if (shown.section != section)
            text += "\n[" + shown.section + "]\n";
        section = shown.section;
        text += shown.name + " = " + shown.text + "  # " + std::string(origin_name(shown.origin)) +
                (shown.where.empty() ? "" : " " + shown.where) + "\n";
    }
    return text;
}

std::string without_password(std::string_view url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string_view::npos)
        return mask_parameters(url);
    const std::size_t begin = scheme + 3;
    // Up to the last @, wherever it stands: a password with an unescaped slash is still one.
    const std::string_view before = url.substr(begin, url.find('?', begin) - begin);
    const std::size_t at = before.rfind('@');
    const std::size_t colon = before.find(':');
    if (at == std::string_view::npos || colon == std::string_view::npos || colon > at)
        return mask_parameters(url);
    return std::string(url.substr(0, begin + colon + 1))
        .append(mask)
        .append(mask_parameters(url.substr(begin + at)));
}

} // namespace deadman::config
