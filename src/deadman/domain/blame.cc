#include "deadman/domain/blame.h"

#include <algorithm>
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

bool is_quarantined(const Blame& blame, const CrashTerms& terms) {
    return terms.max_crashes > 0 && blame.crashes >= terms.max_crashes;
}

base::Duration delay_after_lapse(const Blame& after, const Lapse& lapse, const CrashTerms& terms) {
    if (!lapse.counts || !lapse.alone || !is_suspect(after))
        return {};
    base::Duration delay = terms.first_delay;
    for (int crash = 1; crash < after.crashes && delay < max_crash_delay && delay.count() > 0;
         ++crash)
        delay *= 2;
    return std::min(delay, max_crash_delay);
}

} // namespace deadman::domain
