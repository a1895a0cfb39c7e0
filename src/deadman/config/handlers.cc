#include "deadman/config/internal/handlers.h"

#include <algorithm>
#include <optional>

#include "deadman/config/internal/nearest.h"
#include "deadman/config/internal/value.h"

namespace deadman::config {
namespace {

/// One [handlers.NAME] table while it is read.
struct Table {
    const std::string& path;
    const std::string& name;
    const RawSection& raw;
    Refusals& refusals;

    void refuse(std::size_t line, const std::string& why) const {
        refusals.add(line, place(path, line) + ": handlers." + name + why);
    }
};

/// The values of a table, by key; those not given have their default, or are missing.
class Values {
  public:
    /// Empty where the key was not given and has no default.
    template <typename T> T get(std::string_view key) const {
        const auto found = values_.find(key);
        return found == values_.end() ? T{} : std::get<T>(found->second);
    }

    bool has(std::string_view key) const {
        return values_.find(key) != values_.end();
    }

    void put(std::string_view key, Value value) {
        values_.insert_or_assign(std::string(key), std::move(value));
    }

  private:
    std::map<std::string, Value, std::less<>> values_;
};

/// A handler's name is the kind of its jobs.
bool is_kind(std::string_view name) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !name.empty() && name.size() <= 200 && plain(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) {
               return plain(c) || std::string_view("_.:/-").find(c) != std::string_view::npos;
           });
}

/// Nothing where it was refused.
std::optional<std::string> type_of(const Table& table) {
    const auto found = table.raw.entries.find("type");
    if (found == table.raw.entries.end()) {
        table.refuse(table.raw.line, ": type is missing; it is one of exec, http, sql");
        return std::nullopt;
    }
    const auto* type = std::get_if<std::string>(&found->second.value);
    if (!type || handler_options(*type).empty()) {
        table.refuse(found->second.line, ".type: must be one of exec, http, sql");
        return std::nullopt;
    }
    return *type;
}

void refuse_unknown(const Table& table, const std::string& type) {
    std::vector<std::string> names{"type"};
    for (const Option& option : handler_options(type))
        names.emplace_back(option.name);
    for (const auto& [key, entry] : table.raw.entries) {
        if (std::find(names.begin(), names.end(), key) != names.end())
            continue;
        const std::string meant = nearest(key, names);
        table.refuse(entry.line, ": unknown key '" + key + "' of type " + type +
                                     (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
    }
}

void take_value(const Table& table, const Option& option, Values& values, Config& config) {
    const auto found = table.raw.entries.find(std::string(option.name));
    const bool given = found != table.raw.entries.end();
    if (!given && option.required)
        return table.refuse(table.raw.line, ": " + std::string(option.name) +
                                                " is missing; it must be " + allowed(option));
    if (!given && (option.fallback.empty() || option.fallback.front() == '('))
        return;
    auto value = given ? value_from_raw(option, found->second.value)
                       : value_from_text(option, option.fallback);
    if (!value)
        return table.refuse(given ? found->second.line : table.raw.line,
                            "." + std::string(option.name) + ": " + value.error().message);
    config.shown.push_back({.section = "handlers." + toml_quoted(table.name),
                            .name = std::string(option.name),
                            .text = value_as_toml(option, *value),
                            .origin = given ? Origin::file : Origin::fallback,
                            .where = given ? place(table.path, found->second.line) : ""});
    values.put(option.name, std::move(*value));
}

ExecHandler make_exec(const Values& values) {
    ExecHandler handler;
    handler.command = values.get<TextList>("command");
    if (values.has("timeout"))
        handler.timeout = values.get<base::Duration>("timeout");
    handler.working_directory = values.get<std::string>("working_directory");
    handler.environment = values.get<TextTable>("environment");
    handler.kill_grace = values.get<base::Duration>("kill_grace");
    return handler;
}

HttpHandler make_http(const Values& values) {
    return {.url = values.get<std::string>("url"),
            .secret_file = values.get<std::string>("secret_file"),
            .timeout = values.get<base::Duration>("timeout"),
            .allow_private_addresses = values.get<bool>("allow_private_addresses"),
            .max_redirects = static_cast<int>(values.get<std::int64_t>("max_redirects"))};
}

HandlerConfig make_handler(const Table& table, const std::string& type, const Values& values) {
    if (type == "exec")
        return make_exec(values);
    if (type == "sql")
        return SqlHandler{.statement = values.get<std::string>("statement")};
    HttpHandler handler = make_http(values);
    if (values.has("url") && !handler.url.starts_with("http://") &&
        !handler.url.starts_with("https://"))
        table.refuse(table.raw.entries.at("url").line, ".url: must begin with http:// or https://");
    return handler;
}

void take_handler(const Table& table, Config& config) {
    if (!is_kind(table.name))
        table.refuse(table.raw.line, ": a handler's name is a job kind: 1 to 200 ASCII letters, "
                                     "digits and _ . : / -, a letter or digit first");
    const std::optional<std::string> type = type_of(table);
    if (!type)
        return;
    refuse_unknown(table, *type);
    config.shown.push_back({.section = "handlers." + toml_quoted(table.name),
                            .name = "type",
                            .text = toml_quoted(*type),
                            .origin = Origin::file,
                            .where = place(table.path, table.raw.entries.at("type").line)});
    Values values;
    for (const Option& option : handler_options(*type))
        take_value(table, option, values, config);
    config.handlers.insert_or_assign(table.name, make_handler(table, *type, values));
}

} // namespace

void take_handlers(const RawFile& file, Config& config, Refusals& refusals) {
    for (const auto& [name, raw] : file.handlers)
        take_handler({.path = file.path, .name = name, .raw = raw, .refusals = refusals}, config);
}

} // namespace deadman::config
