#include "apps/deadman/chaos/fate.h"

#include <algorithm>

#include "deadman/base/random.h"

namespace deadman::chaos {
namespace {

constexpr Stage stages[] = {Stage::before_effect, Stage::during_effect, Stage::after_effect};

// Which of the pausing jobs is this, if it is one: the k-th multiple of jobs / pauses.
std::optional<int> pause_index(const FatePlan& plan, int job_number) {
    const auto before = static_cast<std::int64_t>(job_number) * plan.pauses / plan.jobs;
    const auto after = (static_cast<std::int64_t>(job_number) + 1) * plan.pauses / plan.jobs;
    if (before == after)
        return std::nullopt;
    return static_cast<int>(before);
}

} // namespace

std::string_view stage_name(Stage stage) {
    switch (stage) {
    case Stage::before_effect:
        return "before";
    case Stage::during_effect:
        return "during";
    case Stage::after_effect:
        break;
    }
    return "after";
}

Fate draw_fate(const FatePlan& plan, int job_number, int run_number) {
    if (run_number == 1)
        if (const auto index = pause_index(plan, job_number))
            return {FateKind::pauses, stages[*index % 3], false};
    base::Random mixed(plan.seed);
    base::Random random(mixed.next() ^ (static_cast<std::uint64_t>(job_number) << 20) ^
                        static_cast<std::uint64_t>(run_number));
    const double draw = random.unit();
    if (draw >= plan.death * reluctance)
        return {};
    return {FateKind::dies, stages[random.below(3)], draw >= plan.death};
}

double death_chance(double share, double held) {
    if (share >= 1)
        return 1;
    // For each success share / (1 - share) runs lapse, `held` of them with each death.
    const double deaths_per_success = share / (1 - share) / std::max(held, 1.0);
    return deaths_per_success / (1 + deaths_per_success);
}

} // namespace deadman::chaos
