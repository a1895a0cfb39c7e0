#include "deadman/base/duration_text.h"

#include <array>
#include <cstdint>
#include <numeric>

namespace deadman::base {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t micros;
};

constexpr std::array<Unit, 6> units{{
    {"d", 86'400'000'000},
    {"h", 3'600'000'000},
    {"m", 60'000'000},
    {"s", 1'000'000},
    {"ms", 1'000},
    {"us", 1},
}};

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

Error refuse(std::string_view text, std::string_view why) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text.substr(0, 40)) +
                                                 "' is no duration: " + std::string(why) +
                                                 " (write it like 90s, 1500ms, 2h30m, 14d)");
}

/// Reads the parts of one text from left to right.
class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text), rest_(text) {}

    Result<Duration> parse() {
        if (text_.empty())
            return refuse(text_, "it is empty");
        if (text_ == "0")
            return Duration::zero();
        while (!rest_.empty())
            DEADMAN_TRY_STATUS(take_part());
        return Duration{total_};
    }

  private:
    Status take_part() {
        const std::string_view whole = take_digits();
        std::string_view fraction;
        if (!rest_.empty() && rest_.front() == '.') {
            rest_.remove_prefix(1);
            fraction = take_digits();
            if (fraction.empty())
                return refuse(text_, "digits are missing after the point");
        }
        if (whole.empty())
            return refuse(text_, text_.front() == '-' ? "it is negative" : "a number is missing");
        DEADMAN_TRY(const std::int64_t unit_micros, take_unit());
        return add(whole, fraction, unit_micros);
    }

    std::string_view take_digits() {
        std::size_t length = 0;
        while (length < rest_.size() && is_digit(rest_[length]))
            ++length;
        const std::string_view digits = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return digits;
    }

    Result<std::int64_t> take_unit() {
        std::size_t length = 0;
        while (length < rest_.size() && !is_digit(rest_[length]) && rest_[length] != '.')
            ++length;
        const std::string_view name = rest_.substr(0, length);
        rest_.remove_prefix(length);
        if (name.empty())
            return refuse(text_, "a unit is missing; the units are d, h, m, s, ms, us");
        for (std::size_t i = 0; i < units.size(); ++i) {
            if (units[i].name != name)
                continue;
            if (i < next_unit_)
                return refuse(text_, "units go from the largest down, each at most once");
            next_unit_ = i + 1;
            return units[i].micros;
        }
        return refuse(text_, "the units are d, h, m, s, ms, us");
    }

    Status add(std::string_view whole, std::string_view fraction, std::int64_t unit_micros) {
        const std::int64_t most = longest_duration.count();
        std::int64_t number = 0;
        for (const char digit : whole) {
            number = number * 10 + (digit - '0');
            if (number > most / unit_micros)
                return refuse(text_, "it is longer than 10,000 years");
        }
        DEADMAN_TRY(const std::int64_t part, micros_of_fraction(fraction, unit_micros));
        const std::int64_t micros = number * unit_micros + part;
        if (micros > most - total_)
            return refuse(text_, "it is longer than 10,000 years");
        total_ += micros;
        return {};
    }

    /// 0.`digits` of the unit, which must come out as a whole number.
    Result<std::int64_t> micros_of_fraction(std::string_view digits,
                                            std::int64_t unit_micros) const {
        while (!digits.empty() && digits.back() == '0')
            digits.remove_suffix(1);
        // No unit is divisible by more than 2^13, so nothing longer can come out even.
        if (digits.size() > 13)
            return refuse(text_, "it is finer than a microsecond");
        std::int64_t number = 0;
        std::int64_t scale = 1;
        for (const char digit : digits) {
            number = number * 10 + (digit - '0');
            scale *= 10;
        }
        const std::int64_t common = std::gcd(unit_micros, scale);
        if (number % (scale / common) != 0)
            return refuse(text_, "it is finer than a microsecond");
        return number / (scale / common) * (unit_micros / common);
    }

    std::string_view text_;
    std::string_view rest_;
    std::size_t next_unit_ = 0;
    std::int64_t total_ = 0;
};

std::string in_one_unit(std::uint64_t micros) {
    for (const Unit& unit : units) {
        const auto size = static_cast<std::uint64_t>(unit.micros);
        if (micros % size == 0)
            return std::to_string(micros / size) + std::string(unit.name);
    }
    return {};
}

std::string in_all_units(std::uint64_t micros) {
    std::string text;
    for (const Unit& unit : units) {
        const auto size = static_cast<std::uint64_t>(unit.micros);
        if (const std::uint64_t count = micros / size; count != 0)
            text += std::to_string(count) + std::string(unit.name);
        micros %= size;
    }
    return text;
}

} // namespace

Result<Duration> parse_duration(std::string_view text) {
    return Parser(text).parse();
}

std::string format_duration(Duration duration) {
    if (duration == Duration::zero())
        return "0s";
    const bool negative = duration < Duration::zero();
    const auto bits = static_cast<std::uint64_t>(duration.count());
    const std::uint64_t micros = negative ? ~bits + 1 : bits;
    const std::string one = in_one_unit(micros);
    const std::string all = in_all_units(micros);
    return (negative ? "-" : "") + (all.size() < one.size() ? all : one);
}

} // namespace deadman::base
