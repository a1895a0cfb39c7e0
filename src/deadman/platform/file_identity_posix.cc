#include "deadman/platform/file_identity.h"

#include <sys/stat.h>

namespace deadman::platform {

std::optional<FileIdentity> identify_file(const std::string& path) {
    constexpr std::int64_t per_second = 1'000'000'000;
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return std::nullopt;
    return FileIdentity{.device = file.st_dev,
                        .number = file.st_ino,
                        .bytes = static_cast<std::uint64_t>(file.st_size),
                        .modified = file.st_mtim.tv_sec * per_second + file.st_mtim.tv_nsec};
}

} // namespace deadman::platform
