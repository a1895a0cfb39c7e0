#pragma once
// FileSample: real files to work on, chosen by a seed.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "deadman/base/result.h"

namespace deadman::demo {

struct SampledFile {
    std::string path;
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type changed_at;
};

struct SampleRequest {
    std::string root = "/usr";
    std::size_t count = 2'000;
    std::uintmax_t min_bytes = 1 << 10;
    std::uintmax_t max_bytes = 1 << 20;
    std::uint64_t seed = 1;
};

/// Regular, readable files below the root, links not followed; the same ones for the same seed on
/// the same machine. Fewer than asked for where there are no more. Names that a line of text cannot
/// carry are left out. not_found: there is none at all.
base::Result<std::vector<SampledFile>> sample_files(const SampleRequest& request);

/// It is not there any more, or it has another size or time.
bool has_changed(const SampledFile& file);

} // namespace deadman::demo
