#include <filesystem>
#include <fstream>
#include <iterator>

#include "deadman/config/config.h"

namespace deadman::config {
namespace {

using base::ErrorCode;

constexpr std::uintmax_t largest_file = 1 << 20;

base::Result<FileText> read(const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        return base::fail(ErrorCode::invalid_argument, "config file '" + path + "' is a folder");
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error && size > largest_file)
        return base::fail(ErrorCode::invalid_argument,
                          "config file '" + path + "' is larger than 1 MiB");
    std::ifstream stream(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (!stream.is_open() || stream.bad())
        return base::fail(ErrorCode::not_found, "cannot read the config file '" + path + "'");
    return FileText{.path = path, .text = std::move(text)};
}

} // namespace

base::Result<std::optional<FileText>> read_file(const std::string& path) {
    if (!path.empty()) {
        DEADMAN_TRY(FileText file, read(path));
        return std::optional(std::move(file));
    }
    for (const char* usual : {"deadman.toml", "/etc/deadman/deadman.toml"}) {
        std::error_code error;
        if (!std::filesystem::exists(usual, error))
            continue;
        // One that exists and cannot be read is an error: its settings would be missed in silence.
        DEADMAN_TRY(FileText file, read(usual));
        return std::optional(std::move(file));
    }
    return std::optional<FileText>();
}

} // namespace deadman::config
