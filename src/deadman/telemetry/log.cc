#include "deadman/telemetry/log.h"

#include <array>

#include "deadman/telemetry/internal/log_text.h"

namespace deadman::telemetry {
namespace {

constexpr std::array<std::pair<Level, std::string_view>, 4> level_names{{
    {Level::debug, "debug"},
    {Level::info, "info"},
    {Level::warn, "warn"},
    {Level::error, "error"},
}};

/// Names are literals, so there are few; should one ever be made from input, the map stays bounded.
constexpr std::size_t most_names = 1000;

} // namespace

std::string_view level_name(Level level) {
    for (const auto& [value, name] : level_names)
        if (value == level)
            return name;
    return "info";
}

std::optional<Level> parse_level(std::string_view name) {
    for (const auto& [value, known] : level_names)
        if (known == name)
            return value;
    return std::nullopt;
}

std::optional<std::string> Event::field(std::string_view field_name) const {
    for (const Field& candidate : fields)
        if (candidate.name == field_name)
            return value_text(candidate.value);
    return std::nullopt;
}

Log::Log(const base::Clock& clock, Sink& sink, LogOptions options)
    : clock_(clock), sink_(sink), options_(options) {}

Log::~Log() {
    for (const auto& [name, window] : windows_)
        if (window.held_back > 0)
            sink_.write({.time = clock_.now(),
                         .level = Level::warn,
                         .name = "log_held_back",
                         .fields = {{"event_name", name}, {"count", window.held_back}}});
}

void Log::debug(std::string_view event, std::initializer_list<Field> fields) {
    if (enabled(Level::debug))
        write(Level::debug, event, fields);
}

void Log::info(std::string_view event, std::initializer_list<Field> fields) {
    if (enabled(Level::info))
        write(Level::info, event, fields);
}

void Log::warn(std::string_view event, std::initializer_list<Field> fields) {
    if (enabled(Level::warn))
        write(Level::warn, event, fields);
}

void Log::error(std::string_view event, std::initializer_list<Field> fields) {
    write(Level::error, event, fields);
}

void Log::write(Level level, std::string_view event, Fields fields) {
    if (!enabled(level))
        return;
    const std::optional<std::int64_t> held_back = admit(event);
    if (!held_back)
        return;
    if (*held_back > 0)
        fields.emplace_back("held_back", *held_back);
    sink_.write({.time = clock_.now(),
                 .level = level,
                 .name = std::string(event),
                 .fields = std::move(fields)});
}

std::optional<std::int64_t> Log::admit(std::string_view event) {
    if (options_.burst <= 0 || !sink_.rate_limited())
        return 0;
    const base::SteadyTime now = clock_.steady_now();
    const std::lock_guard lock(mutex_);
    auto found = windows_.find(event);
    if (found == windows_.end()) {
        const bool room = windows_.size() < most_names;
        found = windows_.try_emplace(room ? std::string(event) : std::string("other"), Window{now})
                    .first;
    }
    Window& window = found->second;
    if (now - window.began >= options_.window) {
        window.began = now;
        window.written = 0;
    }
    if (window.written >= options_.burst) {
        ++window.held_back;
        return std::nullopt;
    }
    ++window.written;
    return std::exchange(window.held_back, 0);
}

} // namespace deadman::telemetry
