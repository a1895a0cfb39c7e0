#include "apps/deadman/demo/file_sample.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include "deadman/base/random.h"
#include "deadman/base/utf8.h"

namespace deadman::demo {
namespace {

namespace fs = std::filesystem;

bool is_plain_name(const std::string& path) {
    const bool control = std::any_of(path.begin(), path.end(), [](unsigned char c) {
        return c < 0x20 || c == 0x7f || c == '\\';
    });
    return !control && base::find_invalid_utf8(path) == std::string_view::npos;
}

std::optional<SampledFile> fitting(const fs::directory_entry& entry, const SampleRequest& request) {
    std::error_code error;
    if (entry.is_symlink(error) || !entry.is_regular_file(error) || error)
        return std::nullopt;
    const std::uintmax_t bytes = entry.file_size(error);
    if (error || bytes < request.min_bytes || bytes > request.max_bytes)
        return std::nullopt;
    const fs::file_time_type changed_at = entry.last_write_time(error);
    std::string path = entry.path().string();
    if (error || !is_plain_name(path))
        return std::nullopt;
    return SampledFile{std::move(path), bytes, changed_at};
}

} // namespace

base::Result<std::vector<SampledFile>> sample_files(const SampleRequest& request) {
    std::vector<SampledFile> all;
    std::error_code error;
    fs::recursive_directory_iterator walk(request.root,
                                          fs::directory_options::skip_permission_denied, error);
    for (; !error && walk != fs::end(walk); walk.increment(error))
        if (auto file = fitting(*walk, request))
            all.push_back(std::move(*file));
    // In the order of their names, so that the choice does not depend on the directory's.
    std::sort(all.begin(), all.end(),
              [](const SampledFile& a, const SampledFile& b) { return a.path < b.path; });

    base::Random random(request.seed);
    std::vector<SampledFile> chosen;
    while (chosen.size() < request.count && !all.empty()) {
        std::swap(all[random.below(all.size())], all.back());
        if (std::ifstream(all.back().path))
            chosen.push_back(std::move(all.back()));
        all.pop_back();
    }
    if (chosen.empty())
        return base::fail(base::ErrorCode::not_found,
                          "no readable file of a fitting size below " + request.root);
    return chosen;
}

bool has_changed(const SampledFile& file) {
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(file.path, error);
    if (error || bytes != file.bytes)
        return true;
    return fs::last_write_time(file.path, error) != file.changed_at || error;
}

} // namespace deadman::demo
