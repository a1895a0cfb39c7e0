#include "deadman/telemetry/sinks.h"

#include <algorithm>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace deadman::telemetry {
namespace {

spdlog::level::level_enum to_spdlog(Level level) {
    switch (level) {
    case Level::debug:
        return spdlog::level::debug;
    case Level::info:
        return spdlog::level::info;
    case Level::warn:
        return spdlog::level::warn;
    case Level::error:
        return spdlog::level::err;
    }
    return spdlog::level::info;
}

/// A logger of our own, not in spdlog's registry. It gets finished lines: format and levels are
/// ours.
class SpdlogSink final : public Sink {
  public:
    SpdlogSink(spdlog::sink_ptr sink, LogFormat format)
        : logger_("deadman", std::move(sink)), format_(format) {
        logger_.set_level(spdlog::level::trace);
        logger_.flush_on(spdlog::level::trace);
        logger_.set_pattern(format == LogFormat::json ? "%v" : "%^%v%$");
    }

    void write(const Event& event) override {
        const std::string line =
            format_ == LogFormat::json ? format_json(event) : format_console(event);
        logger_.log(to_spdlog(event.level), spdlog::string_view_t(line));
    }

  private:
    spdlog::logger logger_;
    const LogFormat format_;
};

} // namespace

std::string_view log_format_name(LogFormat format) {
    return format == LogFormat::json ? "json" : "console";
}

std::optional<LogFormat> parse_log_format(std::string_view name) {
    if (name == "json")
        return LogFormat::json;
    if (name == "console")
        return LogFormat::console;
    return std::nullopt;
}

std::unique_ptr<Sink> make_stderr_sink(LogFormat format) {
    return std::make_unique<SpdlogSink>(std::make_shared<spdlog::sinks::stderr_color_sink_mt>(),
                                        format);
}

base::Result<std::unique_ptr<Sink>> make_file_sink(const std::string& path, LogFormat format) {
    try {
        return std::unique_ptr<Sink>(std::make_unique<SpdlogSink>(
            std::make_shared<spdlog::sinks::basic_file_sink_mt>(path), format));
    } catch (const spdlog::spdlog_ex& error) {
        return base::fail(base::ErrorCode::unavailable,
                          "cannot write the log to '" + path + "': " + error.what());
    }
}

void MemorySink::write(const Event& event) {
    {
        const std::lock_guard lock(mutex_);
        events_.push_back(event);
    }
    written_.notify_all();
}

std::vector<Event> MemorySink::events() const {
    const std::lock_guard lock(mutex_);
    return events_;
}

std::vector<Event> MemorySink::events(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    std::vector<Event> found;
    std::copy_if(events_.begin(), events_.end(), std::back_inserter(found),
                 [&](const Event& event) { return event.name == name; });
    return found;
}

std::size_t MemorySink::count(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    return count_locked(name);
}

std::size_t MemorySink::count_locked(std::string_view name) const {
    return static_cast<std::size_t>(std::count_if(
        events_.begin(), events_.end(), [&](const Event& event) { return event.name == name; }));
}

bool MemorySink::wait_for(std::string_view name, std::size_t at_least,
                          std::chrono::milliseconds patience) const {
    std::unique_lock lock(mutex_);
    return written_.wait_for(lock, patience, [&] { return count_locked(name) >= at_least; });
}

void MemorySink::clear() {
    const std::lock_guard lock(mutex_);
    events_.clear();
}

} // namespace deadman::telemetry
