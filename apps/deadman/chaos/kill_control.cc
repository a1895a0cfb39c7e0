#include "apps/deadman/chaos/kill_control.h"

#include <algorithm>
#include <cmath>

namespace deadman::chaos {
namespace {

// So many runs have to have ended before a share means anything.
constexpr double fewest_runs = 20;

double taken_by_a_kill(const RunCounts& counts) {
    const double held = static_cast<double>(counts.at_risk) / std::max(counts.alive, 1);
    return std::max(held, 1.0);
}

double expected_lapses(const RunCounts& counts) {
    return static_cast<double>(counts.lapsed + counts.doomed);
}

double other_ends(const RunCounts& counts) {
    return static_cast<double>(counts.ended - counts.lapsed);
}

double all_ends(const RunCounts& counts) {
    return other_ends(counts) + expected_lapses(counts);
}

double expected_share(const RunCounts& counts) {
    return expected_lapses(counts) / std::max(all_ends(counts), 1.0);
}

} // namespace

int kills_wanted(double share, std::int64_t jobs, const RunCounts& counts) {
    if (share <= 0 || share >= 1 || counts.succeeded >= jobs || counts.at_risk == 0)
        return 0;
    const double wanted = other_ends(counts) * share / (1 - share);
    const double kills = (wanted - expected_lapses(counts)) / taken_by_a_kill(counts);
    return static_cast<int>(std::floor(std::clamp(kills + 0.5, 0.0, 1.0 * counts.alive)));
}

bool fates_armed(double share, const RunCounts& counts) {
    // A little above the share is let pass: otherwise each death would wait for the parent's look.
    return share > 0 && (all_ends(counts) < fewest_runs || expected_share(counts) < share + 0.01);
}

bool fates_hurried(double share, const RunCounts& counts) {
    return share > 0 && all_ends(counts) >= fewest_runs && expected_share(counts) < share - 0.01;
}

} // namespace deadman::chaos
