#include "apps/deadman/bench/samples.h"

#include <algorithm>
#include <cmath>
#include <format>

namespace deadman::bench {
namespace {

double millis(base::Duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

} // namespace

Spread spread_of(std::vector<base::Duration> samples) {
    if (samples.empty())
        return {};
    std::sort(samples.begin(), samples.end());
    const auto at = [&](double share) {
        const auto rank =
            static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
        return millis(samples[std::max<std::size_t>(rank, 1) - 1]);
    };
    return {.count = samples.size(),
            .p50_ms = at(0.50),
            .p95_ms = at(0.95),
            .p99_ms = at(0.99),
            .max_ms = millis(samples.back())};
}

std::string decimal(double value, int decimals) {
    return std::isfinite(value) ? std::format("{:.{}f}", value, decimals) : "0";
}

std::string spread_json(const Spread& spread) {
    return std::format(R"({{"n":{},"p50_ms":{},"p95_ms":{},"p99_ms":{},"max_ms":{}}})",
                       spread.count, decimal(spread.p50_ms, 3), decimal(spread.p95_ms, 3),
                       decimal(spread.p99_ms, 3), decimal(spread.max_ms, 3));
}

std::string spread_text(const Spread& spread) {
    return std::format("p50 {:.2f}  p95 {:.2f}  p99 {:.2f}  max {:.2f} ms", spread.p50_ms,
                       spread.p95_ms, spread.p99_ms, spread.max_ms);
}

std::string thousands(double value) {
    std::string digits = std::format("{:.0f}", value);
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3; at -= 3)
        digits.insert(at - 3, ",");
    return digits;
}

double seconds_of(base::Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

double per_second(double amount, base::Duration duration) {
    const double seconds = seconds_of(duration);
    return seconds > 0 ? amount / seconds : 0;
}

} // namespace deadman::bench
