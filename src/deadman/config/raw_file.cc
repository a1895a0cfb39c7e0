#include "deadman/config/internal/raw_file.h"

#include <optional>

#include <toml++/toml.hpp>

namespace deadman::config {
namespace {

using base::ErrorCode;

RawValue list_value(const toml::array& array) {
    TextList list;
    for (const toml::node& node : array) {
        const auto text = node.value_exact<std::string>();
        if (!text)
            return OddValue{};
        list.push_back(*text);
    }
    return list;
}

RawValue table_value(const toml::table& table) {
    TextTable texts;
    for (const auto& [key, node] : table) {
        const auto text = node.value_exact<std::string>();
        if (!text)
            return OddValue{};
        texts.emplace(std::string(key.str()), *text);
    }
    return texts;
}

RawValue raw_value(const toml::node& node) {
    if (const auto* array = node.as_array())
        return list_value(*array);
    if (const auto* table = node.as_table())
        return table_value(*table);
    if (const auto flag = node.value_exact<bool>())
        return *flag;
    if (const auto number = node.value_exact<std::int64_t>())
        return *number;
    if (const auto text = node.value_exact<std::string>())
        return *text;
    return OddValue{};
}

std::size_t line_of(const toml::key& key) {
    return key.source().begin.line;
}

RawSection section(const toml::table& table, std::size_t line) {
    RawSection result{.entries = {}, .line = line};
    for (const auto& [key, node] : table)
        result.entries.emplace(std::string(key.str()),
                               RawEntry{.value = raw_value(node), .line = line_of(key)});
    return result;
}

base::Status take_handlers(const toml::table& table, RawFile& raw) {
    for (const auto& [key, node] : table) {
        const auto* handler = node.as_table();
        if (!handler)
            return base::fail(ErrorCode::invalid_argument,
                              place(raw.path, line_of(key)) +
                                  ": a handler is a table of its own: [handlers.NAME]");
        raw.handlers.emplace(std::string(key.str()), section(*handler, line_of(key)));
    }
    return {};
}

base::Result<RawFile> take_apart(const toml::table& root, const std::string& path) {
    RawFile raw{.path = path, .top = {}, .sections = {}, .handlers = {}};
    for (const auto& [key, node] : root) {
        const std::string name(key.str());
        const auto* table = node.as_table();
        if (table && name == "handlers") {
            DEADMAN_TRY_STATUS(take_handlers(*table, raw));
        } else if (table) {
            raw.sections.emplace(name, section(*table, line_of(key)));
        } else {
            raw.top.entries.emplace(name, RawEntry{.value = raw_value(node), .line = line_of(key)});
        }
    }
    return raw;
}

base::Result<toml::table> parse(const FileText& file) {
    try {
        return toml::parse(file.text);
    } catch (const toml::parse_error& error) {
        return base::fail(ErrorCode::invalid_argument,
                          place(file.path, error.source().begin.line) +
                              ": not valid TOML: " + std::string(error.description()));
    }
}

} // namespace

std::string place(const std::string& path, std::size_t line) {
    return path + ":" + std::to_string(line);
}

base::Result<RawFile> parse_raw_file(const FileText& file) {
    DEADMAN_TRY(const toml::table root, parse(file));
    return take_apart(root, file.path);
}

} // namespace deadman::config
