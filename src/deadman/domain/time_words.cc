#include "deadman/domain/time_words.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "deadman/base/check.h"
#include "deadman/base/duration_text.h"
#include "deadman/base/time_text.h"
#include "deadman/domain/job.h"

namespace deadman::domain {
namespace {

using base::Duration;
using base::TimePoint;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint earliest_time{};
constexpr Duration widest_offset = hours(18);

base::Error not_a_time(std::string_view text) {
    return base::fail(base::ErrorCode::invalid_argument,
                      "'" + std::string(text.substr(0, 64)) +
                          "' is not a time: try tuesday, yesterday, -2h, 2026-03-01, "
                          "2026-03-01T09:30:00Z, or a range such as monday..wednesday");
}

/// What one word covers, before it is known on which side of a range it stands.
struct Period {
    TimePoint from;
    std::optional<TimePoint> until;           // nothing: from then on
    bool is_day_or_longer = false;            // the end of a range includes it
    std::optional<unsigned> floating_weekday; // moves back a week to stay before a range's end
};

/// Reads digits and marks from the front of a text.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    bool at_end() const {
        return rest_.empty();
    }

    bool take(char expected) {
        if (rest_.empty() || rest_.front() != expected)
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    /// Exactly `digits` of them.
    std::optional<int> number(std::size_t digits) {
        if (rest_.size() < digits || !std::all_of(rest_.begin(), rest_.begin() + digits, is_digit))
            return std::nullopt;
        int value = 0;
        for (const char c : rest_.substr(0, digits))
            value = value * 10 + (c - '0');
        rest_.remove_prefix(digits);
        return value;
    }

    /// Digits after a decimal point, as microseconds; finer ones are dropped.
    std::optional<Duration> fraction() {
        std::int64_t micros = 0;
        std::size_t digits = 0;
        for (; digits < rest_.size() && is_digit(rest_[digits]); ++digits) {
            if (digits < 6)
                micros = micros * 10 + (rest_[digits] - '0');
        }
        if (digits == 0 || digits > 18)
            return std::nullopt;
        for (std::size_t place = digits; place < 6; ++place)
            micros *= 10;
        rest_.remove_prefix(digits);
        return Duration{micros};
    }

    std::string_view rest() const {
        return rest_;
    }

    static bool is_digit(char c) {
        return c >= '0' && c <= '9';
    }

  private:
    std::string_view rest_;
};

std::optional<int> bounded(std::optional<int> number, int most) {
    return number && *number <= most ? number : std::nullopt;
}

struct ClockTime {
    Duration since_midnight{};
    Duration precision{};
    bool has_seconds = false;
};

/// "09:30", "09:30:15", "09:30:15.25"
std::optional<ClockTime> scan_clock(Scanner& scanner) {
    const auto hour = bounded(scanner.number(2), 23);
    if (!hour || !scanner.take(':'))
        return std::nullopt;
    const auto minute = bounded(scanner.number(2), 59);
    if (!minute)
        return std::nullopt;
    ClockTime time{hours(*hour) + minutes(*minute), minutes(1)};
    if (!scanner.take(':'))
        return time;
    const auto second = bounded(scanner.number(2), 59);
    if (!second)
        return std::nullopt;
    time = {time.since_midnight + seconds(*second), seconds(1), true};
    if (!scanner.take('.'))
        return time;
    const auto fraction = scanner.fraction();
    if (!fraction)
        return std::nullopt;
    return ClockTime{time.since_midnight + *fraction, Duration{1}, true};
}

std::optional<Duration> scan_offset(std::string_view text) {
    if (text == "z" || text == "Z")
        return Duration{};
    Scanner scanner(text);
    const bool ahead = scanner.take('+');
    if (!ahead && !scanner.take('-'))
        return std::nullopt;
    const std::size_t digits = scanner.rest().size() == 1 ? 1 : 2;
    const auto hour = scanner.number(digits);
    std::optional<int> minute = 0;
    if (!scanner.at_end()) {
        scanner.take(':');
        minute = bounded(scanner.number(2), 59);
    }
    if (!hour || !minute || !scanner.at_end())
        return std::nullopt;
    const Duration offset = hours(*hour) + minutes(*minute);
    if (offset > widest_offset)
        return std::nullopt;
    return ahead ? offset : -offset;
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

/// Reads single words; knows what time it is where the caller is.
class WordReader {
  public:
    WordReader(TimePoint now, Duration utc_offset)
        : now_(now), offset_(utc_offset),
          today_(std::chrono::floor<days>(TimePoint(now + utc_offset))) {}

    std::optional<Period> read(std::string_view word) const {
        if (word == "now")
            return Period{now_, std::nullopt};
        if (auto day = named_day(word))
            return day;
        if (auto day = weekday(word))
            return day;
        if (auto time = relative(word))
            return time;
        return calendar(word);
    }

  private:
    using Day = std::chrono::time_point<std::chrono::system_clock, days>;

    TimePoint utc(TimePoint local) const {
        return local - offset_;
    }

    Period whole_days(Day first, Day end) const {
        return {utc(TimePoint(first)), utc(TimePoint(end)), true};
    }

    std::optional<Period> named_day(std::string_view word) const {
        if (word == "today")
            return whole_days(today_, today_ + days(1));
        if (word == "yesterday")
            return whole_days(today_ - days(1), today_);
        if (word == "tomorrow")
            return whole_days(today_ + days(1), today_ + days(2));
        return std::nullopt;
    }

    std::optional<Period> weekday(std::string_view word) const {
        static constexpr std::array<std::string_view, 7> names{
            "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
        const bool before_today = word.starts_with("last ") || word.starts_with("last-");
        if (before_today)
            word.remove_prefix(5);
        for (unsigned index = 0; index < names.size(); ++index) {
            if (word != names[index] && word != names[index].substr(0, 3))
                continue;
            const Day end = before_today ? today_ - days(1) : today_;
            const Day day = end - (std::chrono::weekday(end) - std::chrono::weekday(index));
            Period period = whole_days(day, day + days(1));
            period.floating_weekday = index;
            return period;
        }
        return std::nullopt;
    }

    /// "-2h", "2h ago", "+2h", "in 2h"
    std::optional<Period> relative(std::string_view word) const {
        bool back = false;
        if (word.starts_with('-') || word.ends_with(" ago")) {
            back = true;
            word = word.starts_with('-') ? word.substr(1) : word.substr(0, word.size() - 4);
        } else if (word.starts_with('+') || word.starts_with("in ")) {
            word = word.substr(word.starts_with('+') ? 1 : 3);
        } else {
            return std::nullopt;
        }
        const auto distance = base::parse_duration(word);
        if (!distance)
            return std::nullopt;
        return Period{back ? now_ - *distance : now_ + *distance, std::nullopt};
    }

    /// "2026", "2026-03", "2026-03-01", "2026-03-01t09:30[:15[.25]][zone]"
    std::optional<Period> calendar(std::string_view word) const {
        Scanner scanner(word);
        const auto year_number = scanner.number(4);
        if (!year_number)
            return std::nullopt;
        const std::chrono::year year(*year_number);
        if (scanner.at_end())
            return whole_days(Day(year / 1 / 1), Day((year + std::chrono::years(1)) / 1 / 1));
        const auto month_number = scanner.take('-') ? bounded(scanner.number(2), 12) : std::nullopt;
        if (!month_number || *month_number == 0)
            return std::nullopt;
        const auto month = year / *month_number;
        if (scanner.at_end())
            return whole_days(Day(month / 1), Day((month + std::chrono::months(1)) / 1));
        const auto day_number = scanner.take('-') ? scanner.number(2) : std::nullopt;
        if (!day_number || !(month / *day_number).ok())
            return std::nullopt;
        const Day day(month / *day_number);
        if (scanner.at_end())
            return whole_days(day, day + days(1));
        if (!scanner.take('t') && !scanner.take(' '))
            return std::nullopt;
        return time_of_day(day, scanner);
    }

    std::optional<Period> time_of_day(Day day, Scanner& scanner) const {
        const auto clock = scan_clock(scanner);
        if (!clock)
            return std::nullopt;
        const auto offset = scanner.at_end() ? offset_ : scan_offset(scanner.rest());
        if (!offset)
            return std::nullopt;
        const TimePoint from = TimePoint(day) + clock->since_midnight - *offset;
        return Period{from, from + clock->precision};
    }

    TimePoint now_;
    Duration offset_;
    Day today_;
};

TimePoint clamped(TimePoint time) {
    return std::clamp(time, earliest_time, latest_time);
}

base::Result<TimeRange> checked(std::optional<TimePoint> from, std::optional<TimePoint> until,
                                std::string_view text) {
    TimeRange range;
    if (from)
        range.from = clamped(*from);
    if (until)
        range.until = clamped(*until);
    if (range.from && range.until && *range.from >= *range.until)
        return base::fail(base::ErrorCode::invalid_argument,
                          "'" + std::string(text.substr(0, 64)) + "' ends before it begins");
    return range;
}

base::Result<TimeRange> two_sided(std::string_view left, std::string_view right,
                                  const WordReader& reader, std::string_view text) {
    std::optional<Period> first;
    std::optional<Period> last;
    if (!left.empty() && !(first = reader.read(left)))
        return not_a_time(left);
    if (!right.empty() && !(last = reader.read(right)))
        return not_a_time(right);
    if (!first && !last)
        return not_a_time(text);
    if (first && last && first->floating_weekday && first->from > last->from)
        first->from -= days(7);
    std::optional<TimePoint> from;
    if (first)
        from = first->from;
    std::optional<TimePoint> until;
    if (last)
        until = last->is_day_or_longer ? last->until : last->from;
    return checked(from, until, text);
}

} // namespace

base::Result<TimeRange> parse_time_range(std::string_view text, TimePoint now,
                                         Duration utc_offset) {
    const std::string words = lower(trim(text));
    const WordReader reader(now, utc_offset);
    const auto dots = words.find("..");
    if (dots != std::string::npos)
        return two_sided(trim(std::string_view(words).substr(0, dots)),
                         trim(std::string_view(words).substr(dots + 2)), reader, text);
    const auto period = reader.read(words);
    if (!period)
        return not_a_time(text);
    return checked(period->from, period->until, text);
}

base::Result<TimePoint> parse_due_time(std::string_view text, TimePoint now, Duration utc_offset) {
    const std::string words = lower(trim(text));
    auto period = WordReader(now, utc_offset).read(words);
    if (!period)
        return not_a_time(text);
    if (period->floating_weekday && period->from <= now && !words.starts_with("last"))
        period->from += days(7);
    const bool is_time_of_day = period->until && !period->is_day_or_longer;
    if (period->from < now && !is_time_of_day)
        return base::fail(base::ErrorCode::invalid_argument,
                          "'" + std::string(text.substr(0, 64)) +
                              "' lies in the past: name a later time, or none to run it now");
    if (period->from > latest_time)
        return base::fail(base::ErrorCode::invalid_argument,
                          "'" + std::string(text.substr(0, 64)) + "' is past the year 9999");
    return clamped(period->from);
}

base::Result<TimePoint> parse_rfc3339(std::string_view text) {
    const auto refused = [&text] {
        return base::fail(base::ErrorCode::invalid_argument,
                          "'" + std::string(text.substr(0, 64)) +
                              "' is not an RFC 3339 time such as 2026-03-01T09:30:00Z");
    };
    Scanner scanner(text);
    const auto year = scanner.number(4);
    const auto month = year && scanner.take('-') ? scanner.number(2) : std::nullopt;
    const auto day = month && scanner.take('-') ? scanner.number(2) : std::nullopt;
    if (!day || (!scanner.take('T') && !scanner.take('t') && !scanner.take(' ')))
        return refused();
    const std::chrono::year_month_day date{std::chrono::year(*year),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    const auto clock = scan_clock(scanner);
    const auto offset = scan_offset(scanner.rest());
    if (!date.ok() || !clock || !clock->has_seconds || !offset)
        return refused();
    return TimePoint(std::chrono::sys_days(date)) + clock->since_midnight - *offset;
}

base::Result<Duration> parse_utc_offset(std::string_view text) {
    const auto offset = scan_offset(text);
    if (!offset)
        return base::fail(base::ErrorCode::invalid_argument,
                          "'" + std::string(text.substr(0, 64)) +
                              "' is not an offset from UTC such as Z or +02:00");
    return *offset;
}

std::string format_time_range(const TimeRange& range) {
    DEADMAN_CHECK(range.from || range.until);
    return (range.from ? base::format_rfc3339(*range.from) : std::string()) + ".." +
           (range.until ? base::format_rfc3339(*range.until) : std::string());
}

} // namespace deadman::domain
