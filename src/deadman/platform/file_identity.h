#pragma once
// FileIdentity: which file it is that a path names, whatever it is called.
//
// Thread-safety: safe for concurrent use.
// Blocking:      one look-up; about a microsecond on a local disk.

#include <cstdint>
#include <optional>
#include <string>

namespace deadman::platform {

struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t number = 0; // of the file, on its device
    std::uint64_t bytes = 0;
    std::int64_t modified = 0; // nanoseconds

    bool is_same_file(const FileIdentity& other) const {
        return device == other.device && number == other.number;
    }

    /// The same, and nobody has written to it in between.
    bool is_untouched(const FileIdentity& other) const {
        return is_same_file(other) && bytes == other.bytes && modified == other.modified;
    }
};

/// Nothing where there is no such file. It opens nothing: closing a file would drop the byte-range
/// locks that this process has on it.
std::optional<FileIdentity> identify_file(const std::string& path);

} // namespace deadman::platform
