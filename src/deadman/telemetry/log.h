#pragma once
// Log: one structured event, where something was handled, once.
//
//     log.warn("lease_lost", {{"job_id", job}, {"fence", fence}});
//
// Contract:      event names are stable snake_case literals; fields come out in the order given.
// Never
//                a payload, an output or a secret. Values are escaped and cut at max_value_bytes.
// Thread-safety: safe for concurrent use.
// Blocking:      writes to the sink in the caller's thread.
// Ownership:     the clock and the sink must outlive the log.

#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/error.h"
#include "deadman/base/ids.h"

namespace deadman::telemetry {

enum class Level { debug, info, warn, error };

std::string_view level_name(Level level);
std::optional<Level> parse_level(std::string_view name);

using FieldValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string>;

/// One named value. Ids become strings, because readers of JSON round numbers past 2^53; durations
/// become whole microseconds (name such fields *_us); errors become "code: message".
struct Field {
    template <typename T>
        requires std::is_arithmetic_v<T>
    Field(std::string_view field_name, T field_value) : name(field_name) {
        if constexpr (std::is_same_v<T, bool>)
            value = field_value;
        else if constexpr (std::is_floating_point_v<T>)
            value = static_cast<double>(field_value);
        else if constexpr (std::is_signed_v<T>)
            value = static_cast<std::int64_t>(field_value);
        else
            value = static_cast<std::uint64_t>(field_value);
    }

    template <typename Tag>
    Field(std::string_view field_name, base::StrongId<Tag> id)
        : name(field_name), value(std::to_string(id.value)) {}

    Field(std::string_view field_name, std::string_view text)
        : name(field_name), value(std::string(text)) {}

    Field(std::string_view field_name, const std::string& text) : name(field_name), value(text) {}

    Field(std::string_view field_name, const char* text)
        : name(field_name), value(std::string(text)) {}

    Field(std::string_view field_name, base::Duration duration)
        : name(field_name), value(static_cast<std::int64_t>(duration.count())) {}

    Field(std::string_view field_name, const base::Error& error)
        : name(field_name),
          value(std::string(base::error_code_name(error.code)) + ": " + error.message) {}

    std::string name;
    FieldValue value;
};

using Fields = std::vector<Field>;

struct Event {
    base::TimePoint time;
    Level level = Level::info;
    std::string name;
    Fields fields;

    /// The field's value as text, or nothing.
    std::optional<std::string> field(std::string_view field_name) const;
};

inline constexpr std::size_t max_value_bytes = 1024;

/// One line without its newline: {"ts":"...","level":"warn","event":"lease_lost","job_id":"12"}
std::string format_json(const Event& event);

/// One line for people: 2026-03-01 09:30:00.000Z warn  lease_lost  job_id=12
std::string format_console(const Event& event);

/// Where events go.
///
/// Thread-safety: `write` is called by many threads at once.
class Sink {
  public:
    virtual ~Sink() = default;

    virtual void write(const Event& event) = 0;

    /// Does a storm of one event have to be thinned out before it gets here?
    virtual bool rate_limited() const {
        return true;
    }
};

struct LogOptions {
    Level level = Level::info;
    int burst = 50; // events of one name in a `window`, the rest are counted; 0: no limit
    base::Duration window = std::chrono::seconds(1);
};

class Log {
  public:
    Log(const base::Clock& clock, Sink& sink, LogOptions options = {});

    /// Says what was held back and not told yet.
    ~Log();

    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    void debug(std::string_view event, std::initializer_list<Field> fields = {});
    void info(std::string_view event, std::initializer_list<Field> fields = {});
    void warn(std::string_view event, std::initializer_list<Field> fields = {});
    void error(std::string_view event, std::initializer_list<Field> fields = {});

    bool enabled(Level level) const {
        return level >= options_.level;
    }

    void write(Level level, std::string_view event, Fields fields);

  private:
    struct Window {
        base::SteadyTime began;
        int written = 0;
        std::int64_t held_back = 0;
    };

    /// How many events of this name were held back before this one; nothing where this one is, too.
    std::optional<std::int64_t> admit(std::string_view event);

    const base::Clock& clock_;
    Sink& sink_;
    const LogOptions options_;
    std::mutex mutex_;
    std::map<std::string, Window, std::less<>> windows_; // guarded by mutex_
};

} // namespace deadman::telemetry
