#include "deadman/domain/blame.h"

#include <limits>

namespace deadman::domain {
namespace {

/// A job that lapses for years must not wrap round into innocence.
int add(int count, int more) {
    return count > std::numeric_limits<int>::max() - more ? std::numeric_limits<int>::max()
                                                          : count + more;
}

} // namespace

Blame after_lapse(Blame before, const Lapse& lapse) {
    if (!lapse.counts)
        return before;
    const int score = lapse.named_started ? lapse_score_started : lapse_score_other;
    return {.lapse_score = add(before.lapse_score, score),
            .crashes = lapse.alone ? add(before.crashes, 1) : before.crashes};
}

bool is_suspect(const Blame& blame) {
    return blame.lapse_score >= suspect_from;
}

bool is_quarantined(const Blame& blame, int max_crashes) {
    return max_crashes > 0 && blame.crashes >= max_crashes;
}

} // namespace deadman::domain
