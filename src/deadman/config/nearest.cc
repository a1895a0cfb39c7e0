#include "deadman/config/internal/nearest.h"

#include <algorithm>
#include <numeric>

namespace deadman::config {
namespace {

/// Single-character insertions, deletions and replacements between the two, one row at a time.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

} // namespace

std::string nearest(std::string_view wrong, const std::vector<std::string>& names) {
    // A name from a file may be of any length; past this nothing is near it.
    if (wrong.size() > 64)
        return {};
    std::string best;
    std::size_t fewest = 1 + std::max<std::size_t>(2, wrong.size() / 3);
    for (const std::string& name : names) {
        const std::size_t slips = distance(wrong, name);
        if (slips < fewest) {
            fewest = slips;
            best = name;
        }
    }
    return best;
}

} // namespace deadman::config
