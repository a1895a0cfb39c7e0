#pragma once
// The sinks: standard error, a file, and memory for tests.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/telemetry/log.h"

namespace deadman::telemetry {

enum class LogFormat { console, json };

std::string_view log_format_name(LogFormat format);
std::optional<LogFormat> parse_log_format(std::string_view name);

/// Lines on standard error, in colour where that is a terminal.
std::unique_ptr<Sink> make_stderr_sink(LogFormat format);

/// Appends to a file; each line is flushed. unavailable: it cannot be opened.
base::Result<std::unique_ptr<Sink>> make_file_sink(const std::string& path, LogFormat format);

/// Keeps every event, also those that a limit would hold back.
class MemorySink final : public Sink {
  public:
    void write(const Event& event) override;

    bool rate_limited() const override {
        return false;
    }

    std::vector<Event> events() const;
    std::vector<Event> events(std::string_view name) const;
    std::size_t count(std::string_view name) const;

    /// Waits, in real time, until `count(name) >= at_least`; false when `patience` ran out first.
    bool wait_for(std::string_view name, std::size_t at_least = 1,
                  std::chrono::milliseconds patience = std::chrono::seconds(10)) const;

    void clear();

  private:
    std::size_t count_locked(std::string_view name) const;

    mutable std::mutex mutex_;
    mutable std::condition_variable written_;
    std::vector<Event> events_; // guarded by mutex_
};

} // namespace deadman::telemetry
