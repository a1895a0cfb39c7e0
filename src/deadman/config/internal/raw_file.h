#pragma once
// A TOML file taken apart: sections, keys, values and their lines, before any meaning.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/config/config.h"

namespace deadman::config {

using TextList = std::vector<std::string>;
using TextTable = std::map<std::string, std::string>;

/// A value that no option can have: a date, a fraction, a list of lists.
struct OddValue {};

using RawValue = std::variant<OddValue, bool, std::int64_t, std::string, TextList, TextTable>;

struct RawEntry {
    RawValue value;
    std::size_t line = 0;
};

struct RawSection {
    std::map<std::string, RawEntry> entries;
    std::size_t line = 0;
};

struct RawFile {
    std::string path;
    RawSection top;
    std::map<std::string, RawSection> sections;
    std::map<std::string, RawSection> handlers;
};

base::Result<RawFile> parse_raw_file(const FileText& file);

/// "deadman.toml:12"
std::string place(const std::string& path, std::size_t line);

} // namespace deadman::config
