#include "deadman/worker/internal/prefetch.h"

#include <algorithm>

namespace deadman::worker::internal {
namespace {

constexpr double newest_share = 1.0 / 16;
constexpr double most_bytes = 16 << 20;

void average_in(double& average, double newest) {
    average = average == 0 ? newest : average + (newest - average) * newest_share;
}

} // namespace

Prefetch::Prefetch(const WorkerOptions& options)
    : least_(static_cast<std::size_t>(options.prefetch)),
      most_(std::max(least_, 2 * static_cast<std::size_t>(options.max_batch))),
      slots_(options.slots), ahead_(options.prefetch_ahead) {}

void Prefetch::ran(base::Duration time) {
    average_in(run_time_us_, std::max(1.0, static_cast<double>(time.count())));
}

void Prefetch::claimed(std::size_t payload_bytes) {
    average_in(payload_bytes_, std::max(1.0, static_cast<double>(payload_bytes)));
}

std::size_t Prefetch::runs(base::Duration under_way) const {
    if (!tunes_itself() || run_time_us_ == 0)
        return least_;
    const double run_time = std::max(run_time_us_, static_cast<double>(under_way.count()));
    const double wanted =
        std::min({slots_ * static_cast<double>(ahead_.count()) / run_time,
                  most_bytes / std::max(1.0, payload_bytes_), static_cast<double>(most_)});
    return std::max(least_, static_cast<std::size_t>(wanted));
}

} // namespace deadman::worker::internal
