#include "apps/deadman/local_time.h"

#include <cstdlib>
#include <exception>
#include <format>
#include <string_view>

#include "deadman/base/time_text.h"
#include "deadman/platform/terminal.h"

namespace deadman::cli {
namespace {

/// The zone database throws for names that it does not know, and where it is missing.
const std::chrono::time_zone* find_zone() {
    const char* variable = std::getenv("TZ");
    std::string_view name = variable == nullptr ? "" : variable;
    if (name.starts_with(':'))
        name.remove_prefix(1);
    try {
        return name.empty() ? std::chrono::current_zone() : std::chrono::locate_zone(name);
    } catch (const std::exception&) {
        return nullptr;
    }
}

} // namespace

LocalTime LocalTime::here() {
    return LocalTime(find_zone());
}

LocalTime::LocalTime(const std::chrono::time_zone* zone)
    : zone_(zone), for_terminal_(platform::stdout_is_terminal()) {}

base::Duration LocalTime::offset_at(base::TimePoint time) const {
    if (zone_ == nullptr)
        return {};
    return zone_->get_info(std::chrono::floor<std::chrono::seconds>(time)).offset;
}

std::string LocalTime::text(base::TimePoint time) const {
    if (!for_terminal_)
        return base::format_rfc3339(time);
    const auto local = std::chrono::floor<std::chrono::seconds>(time + offset_at(time));
    return std::format("{:%F %T}", local);
}

std::string LocalTime::text(std::optional<base::TimePoint> time) const {
    return time ? text(*time) : "-";
}

std::string rough_duration(base::Duration duration) {
    using namespace std::chrono_literals;
    if (duration < 0s)
        duration = 0s;
    if (duration < 100s)
        return std::format("{} s", duration / 1s);
    if (duration < 100min)
        return std::format("{} min", duration / 1min);
    if (duration < 48h)
        return std::format("{} h", duration / 1h);
    return std::format("{} d", duration / 24h);
}

} // namespace deadman::cli
