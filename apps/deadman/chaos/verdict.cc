#include "apps/deadman/chaos/verdict.h"

#include <string_view>

namespace deadman::chaos {
namespace {

enum class End { none, succeeded, quarantined, failed };

End end_of(std::int64_t job, const std::map<std::int64_t, JobEnd>& ends) {
    const auto found = ends.find(job);
    if (found == ends.end())
        return End::none;
    if (found->second.state == "succeeded")
        return End::succeeded;
    return found->second.reason == "quarantined" ? End::quarantined : End::failed;
}

} // namespace

Verdict judge(const std::vector<std::int64_t>& jobs, const std::map<std::int64_t, JobEnd>& ends,
              const std::map<std::int64_t, std::int64_t>& effects) {
    Verdict verdict;
    for (const std::int64_t job : jobs) {
        const auto found = effects.find(job);
        const std::int64_t count = found == effects.end() ? 0 : found->second;
        const End end = end_of(job, ends);
        verdict.effects += count;
        verdict.succeeded += end == End::succeeded;
        verdict.quarantined += end == End::quarantined;
        verdict.failed += end == End::failed;
        if (end == End::none || (end == End::succeeded && count == 0))
            verdict.lost.push_back(job);
        if (count > 1)
            verdict.duplicated.push_back(job);
        if (count > 0 && end != End::succeeded && end != End::none)
            verdict.unearned.push_back(job);
    }
    return verdict;
}

} // namespace deadman::chaos
