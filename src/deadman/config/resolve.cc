#include <algorithm>
#include <array>

#include "deadman/base/check.h"
#include "deadman/base/duration_text.h"
#include "deadman/config/config.h"
#include "deadman/config/internal/handlers.h"
#include "deadman/config/internal/nearest.h"
#include "deadman/config/internal/refusals.h"
#include "deadman/config/internal/value.h"
#include "deadman/config/option.h"
#include "deadman/config/render.h"

namespace deadman::config {
namespace {

using base::Duration;
using base::ErrorCode;

/// Where an option's value goes.
struct Binding {
    std::string_view key;
    void (*store)(Config&, const Value&);
};

std::string text(const Value& value) {
    return std::get<std::string>(value);
}

int whole(const Value& value) {
    return static_cast<int>(std::get<std::int64_t>(value));
}

std::size_t size(const Value& value) {
    return static_cast<std::size_t>(std::get<std::int64_t>(value));
}

Duration duration(const Value& value) {
    return std::get<Duration>(value);
}

constexpr std::array bindings{
    Binding{"data_dir", [](Config& c, const Value& v) { c.data_dir = text(v); }},
    Binding{"store", [](Config& c, const Value& v) { c.store = text(v); }},
    Binding{"listen", [](Config& c, const Value& v) { c.listen = text(v); }},
    Binding{"token_file", [](Config& c, const Value& v) { c.token_file = text(v); }},
    Binding{"hosts", [](Config& c, const Value& v) { c.hosts = std::get<TextList>(v); }},
    Binding{"log_level", [](Config& c, const Value& v) { c.log_level = text(v); }},
    Binding{"log_format", [](Config& c, const Value& v) { c.log_format = text(v); }},
    Binding{"worker.name", [](Config& c, const Value& v) { c.worker.name = text(v); }},
    Binding{"worker.slots", [](Config& c, const Value& v) { c.worker.slots = whole(v); }},
    Binding{"worker.prefetch", [](Config& c, const Value& v) { c.worker.prefetch = whole(v); }},
    Binding{"worker.queues",
            [](Config& c, const Value& v) { c.worker.queues = std::get<TextList>(v); }},
    Binding{"worker.drain_grace",
            [](Config& c, const Value& v) { c.worker.drain_grace = duration(v); }},
    Binding{"lease.lease", [](Config& c, const Value& v) { c.lease.lease = duration(v); }},
    Binding{"lease.heartbeat", [](Config& c, const Value& v) { c.lease.heartbeat = duration(v); }},
    Binding{"lease.sweep", [](Config& c, const Value& v) { c.lease.sweep = duration(v); }},
    Binding{"lease.hint_heartbeat",
            [](Config& c, const Value& v) { c.lease.hint_heartbeat = duration(v); }},
    Binding{"lease.hint_grace",
            [](Config& c, const Value& v) { c.lease.hint_grace = duration(v); }},
    Binding{"limits.max_payload",
            [](Config& c, const Value& v) { c.limits.max_payload_bytes = size(v); }},
    Binding{"limits.max_result",
            [](Config& c, const Value& v) { c.limits.max_result_bytes = size(v); }},
    Binding{"limits.max_output",
            [](Config& c, const Value& v) { c.limits.max_output_bytes = size(v); }},
    Binding{"limits.retention",
            [](Config& c, const Value& v) { c.limits.retention = duration(v); }},
    Binding{"limits.max_crashes",
            [](Config& c, const Value& v) { c.limits.max_crashes = whole(v); }},
};

const Binding& binding_of(std::string_view key) {
    const auto* found = std::find_if(bindings.begin(), bindings.end(),
                                     [&](const Binding& binding) { return binding.key == key; });
    DEADMAN_CHECK(found != bindings.end());
    return *found;
}

std::string variable(const Sources& sources, const std::string& name) {
    const auto found = sources.environment.find(name);
    return found == sources.environment.end() ? std::string() : found->second;
}

base::Result<std::string> default_data_dir(const Sources& sources) {
    const std::string state = variable(sources, "STATE_DIRECTORY");
    if (!state.empty())
        return state.substr(0, state.find(':')); // systemd may name several
    // A relative XDG_DATA_HOME is to be ignored, says its specification.
    const std::string data = variable(sources, "XDG_DATA_HOME");
    if (data.starts_with('/'))
        return data + "/deadman";
    if (const std::string home = variable(sources, "HOME"); !home.empty())
        return home + "/.local/share/deadman";
    if (const std::string local = variable(sources, "LOCALAPPDATA"); !local.empty())
        return local + "\\deadman";
    return base::fail(ErrorCode::invalid_argument,
                      "data_dir: there is no home folder to put it in; give --data-dir");
}

/// The defaults that depend on the options before them; nothing: the option stays unset.
base::Result<std::optional<std::string>> derived(const std::string& key, const Config& config,
                                                 const Sources& sources) {
    const auto share = [&](int of, int times) {
        return std::optional(base::format_duration(config.lease.lease / of * times));
    };
    if (key == "data_dir") {
        DEADMAN_TRY(std::string folder, default_data_dir(sources));
        return std::optional(std::move(folder));
    }
    if (key == "store")
        return std::optional("sqlite:" + config.data_dir + "/deadman.db");
    if (key == "worker.slots")
        return std::optional(std::to_string(std::clamp(sources.cores, 1, 1'000) * 2));
    if (key == "worker.prefetch")
        return std::optional(std::to_string(config.worker.slots * 2));
    if (key == "lease.heartbeat")
        return share(4, 1);
    if (key == "lease.sweep")
        return share(8, 1);
    if (key == "lease.hint_heartbeat")
        return share(16, 1);
    if (key == "lease.hint_grace")
        return share(4, 1);
    return std::optional<std::string>();
}

/// A value with whence it came.
struct Found {
    base::Result<Value> value;
    Origin origin;
    std::string where;
    std::size_t line = 0; // of the file
};

const RawEntry* find_in_file(const RawFile& file, const Option& option) {
    const RawSection* section = &file.top;
    if (!option.section.empty()) {
        const auto found = file.sections.find(std::string(option.section));
        if (found == file.sections.end())
            return nullptr;
        section = &found->second;
    }
    const auto entry = section->entries.find(std::string(option.name));
    return entry == section->entries.end() ? nullptr : &entry->second;
}

/// What somebody said: the strongest source first.
std::optional<Found> find_given(const Option& option, const Sources& sources, const RawFile& file) {
    if (const auto flag = sources.flags.find(std::string(option.flag)); flag != sources.flags.end())
        return Found{value_from_text(option, flag->second), Origin::flag,
                     "--" + std::string(option.flag), 0};
    const std::string name = variable_of(option);
    if (const auto set = sources.environment.find(name); set != sources.environment.end())
        return Found{value_from_text(option, set->second), Origin::environment, name, 0};
    if (const RawEntry* entry = find_in_file(file, option))
        return Found{value_from_raw(option, entry->value), Origin::file,
                     place(file.path, entry->line), entry->line};
    return std::nullopt;
}

base::Result<std::optional<Found>> find_default(const Option& option, const Config& config,
                                                const Sources& sources) {
    std::optional<std::string> words;
    if (option.fallback.starts_with('(')) {
        DEADMAN_TRY(words, derived(key_of(option), config, sources));
    } else {
        words = std::string(option.fallback);
    }
    if (!words)
        return std::optional<Found>();
    return std::optional(Found{value_from_text(option, *words), Origin::fallback, "", 0});
}

void take(const Option& option, const Sources& sources, const RawFile& file, Config& config,
          Refusals& refusals) {
    std::optional<Found> found = find_given(option, sources, file);
    if (!found) {
        auto fallback = find_default(option, config, sources);
        if (!fallback)
            return refusals.add(0, fallback.error().message);
        found = std::move(*fallback);
    }
    if (!found)
        return;
    const std::string key = key_of(option);
    if (!found->value) {
        // A default that is worked out from a wrong value is not another mistake.
        if (found->origin != Origin::fallback || refusals.empty())
            refusals.add(found->line, (found->where.empty() ? "default" : found->where) + ": " +
                                          key + " " + found->value.error().message);
        return;
    }
    binding_of(key).store(config, *found->value);
    // Masked before it is quoted: the mask of an open quote would take the closing one with it.
    const Value shown =
        key == "store" ? Value(without_password(text(*found->value))) : std::move(*found->value);
    config.shown.push_back({.section = std::string(option.section),
                            .name = std::string(option.name),
                            .text = value_as_toml(option, shown),
                            .origin = found->origin,
                            .where = found->where});
}

std::string hint(const std::string& wrong, const std::vector<std::string>& names) {
    const std::string meant = nearest(wrong, names);
    return meant.empty() ? "" : "; did you mean '" + meant + "'?";
}

std::vector<std::string> names_in(std::string_view section) {
    std::vector<std::string> names;
    for (const Option& option : options())
        if (option.section == section)
            names.emplace_back(option.name);
    return names;
}

void refuse_unknown_keys(const RawFile& file, const std::string& name, const RawSection& section,
                         const std::vector<std::string>& names, Refusals& refusals) {
    const std::string of = name.empty() ? "" : " in [" + name + "]";
    for (const auto& [key, entry] : section.entries)
        if (std::find(names.begin(), names.end(), key) == names.end())
            refusals.add(entry.line, place(file.path, entry.line) + ": unknown key '" + key + "'" +
                                         of + hint(key, names));
}

std::vector<std::string> known_sections() {
    std::vector<std::string> sections{"handlers"};
    for (const Option& option : options())
        if (!option.section.empty())
            sections.emplace_back(option.section);
    return sections;
}

void refuse_unknown(const RawFile& file, Refusals& refusals) {
    const std::vector<std::string> sections = known_sections();
    const auto is_section = [&](const std::string& name) {
        return std::find(sections.begin(), sections.end(), name) != sections.end();
    };
    for (const auto& [name, section] : file.sections) {
        if (is_section(name))
            refuse_unknown_keys(file, name, section, names_in(name), refusals);
        else
            refusals.add(section.line, place(file.path, section.line) + ": unknown section [" +
                                           name + "]" + hint(name, sections));
    }
    for (const auto& [name, entry] : file.top.entries)
        if (is_section(name))
            refusals.add(entry.line, place(file.path, entry.line) + ": '" + name +
                                         "' is a section: write [" + name + "]");
    std::vector<std::string> names = names_in("");
    names.insert(names.end(), sections.begin(), sections.end());
    refuse_unknown_keys(file, "", file.top, names, refusals);
}

void refuse_unknown_flags(const Sources& sources, Refusals& refusals) {
    std::vector<std::string> names;
    for (const Option& option : options())
        names.emplace_back(option.flag);
    for (const auto& [flag, value] : sources.flags)
        if (std::find(names.begin(), names.end(), flag) == names.end())
            refusals.add(0, "unknown flag '--" + flag + "'" + hint(flag, names));
}

/// The same rules as domain::validate_terms, which this module may not name; a test compares them.
base::Status check_lease(const LeaseConfig& lease) {
    const auto refuse = [](std::string_view why) {
        return base::fail(ErrorCode::invalid_argument, "[lease]: " + std::string(why));
    };
    if (lease.heartbeat > lease.lease / 2)
        return refuse("heartbeat must be at most half of lease");
    if (lease.sweep * 3 + lease.heartbeat >= lease.lease)
        return refuse("three sweeps and a heartbeat must be shorter than lease");
    if (lease.hint_grace > lease.lease)
        return refuse("hint_grace must be at most lease");
    if (lease.hint_grace < lease.hint_heartbeat * 2)
        return refuse("hint_grace must be at least two hint heartbeats");
    return {};
}

} // namespace

std::string_view origin_name(Origin origin) {
    switch (origin) {
    case Origin::fallback:
        return "default";
    case Origin::file:
        return "file";
    case Origin::environment:
        return "environment";
    case Origin::flag:
        return "flag";
    }
    return "default";
}

Origin Config::origin_of(std::string_view key) const {
    for (const Shown& one : shown) {
        const std::string name = one.section.empty() ? one.name : one.section + "." + one.name;
        if (name == key)
            return one.origin;
    }
    return Origin::fallback;
}

base::Result<Config> resolve(const Sources& sources) {
    Config config;
    RawFile file;
    if (sources.file) {
        DEADMAN_TRY(file, parse_raw_file(*sources.file));
        config.file = sources.file->path;
    }
    Refusals refusals;
    refuse_unknown_flags(sources, refusals);
    refuse_unknown(file, refusals);
    for (const Option& option : options())
        take(option, sources, file, config, refusals);
    if (refusals.empty()) {
        if (const base::Status lease = check_lease(config.lease); !lease)
            refusals.add(0, lease.error().message);
    }
    take_handlers(file, config, refusals);
    if (!refusals.empty())
        return refusals.error();
    return config;
}

} // namespace deadman::config
