#pragma once
// HashCheck: what the jobs wrote against what sha256sum says, by plain SQL.

#include <string>
#include <vector>

#include "apps/deadman/chaos/probe.h"
#include "apps/deadman/demo/file_sample.h"
#include "deadman/base/result.h"

namespace deadman::demo {

struct HashCheck {
    std::int64_t equal = 0;
    std::vector<std::string> changed; // files that changed while the demo ran, so nothing is shown
    std::vector<std::string> wrong;   // ... that did not: a row is missing, doubled or wrong
};

/// Runs sha256sum over the files, and compares with the rows of `table` (path, sha256).
base::Result<HashCheck> check_hashes(chaos::Probe& probe, const std::string& table,
                                     const std::vector<SampledFile>& files);

} // namespace deadman::demo
