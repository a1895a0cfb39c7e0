#pragma once
// UTF-8, one step at a time: what text from outside is checked and mended with.
//
// Source: the Unicode standard's table of well-formed byte sequences (3-7).

#include <cstddef>
#include <string_view>

namespace deadman::base {

struct Utf8Step {
    std::size_t length = 0; // of the character, or of the longest part that could have begun one
    bool valid = false;
};

/// Looks at the sequence that begins at `at`. REQUIRES: at < text.size().
Utf8Step utf8_step(std::string_view text, std::size_t at);

/// The offset of the first byte that is not well-formed UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

} // namespace deadman::base
