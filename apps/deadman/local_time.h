#pragma once
// Times as this user reads and types them: in the zone of the machine, or of the variable TZ.
//
// Thread-safety: constant once made.

#include <chrono>
#include <optional>
#include <string>

#include "deadman/base/time.h"

namespace deadman::cli {

class LocalTime {
  public:
    /// TZ (an IANA name), else the machine's zone, else UTC.
    static LocalTime here();

    /// How far the zone is ahead of UTC at that time.
    base::Duration offset_at(base::TimePoint time) const;

    /// "2026-03-01 09:30:00" for a terminal; else RFC 3339 in UTC, which reads the same everywhere.
    std::string text(base::TimePoint time) const;
    std::string text(std::optional<base::TimePoint> time) const; // "-" where there is none

  private:
    explicit LocalTime(const std::chrono::time_zone* zone);

    const std::chrono::time_zone* zone_; // nullptr: UTC
    bool for_terminal_;
};

/// "3 s", "12 min", "5 h", "9 d": roughly how long, for people.
std::string rough_duration(base::Duration duration);

} // namespace deadman::cli
