#pragma once
// Where the parts of a JSON text stand in it, so that a payload can be taken out byte for byte.
//
// Contract:      looks at one level only. What a slice holds is found by its brackets and quotes
// and is
//                otherwise unchecked: parse it before use. Everything between the slices is
//                checked.

#include <optional>
#include <string_view>
#include <vector>

namespace deadman::base {

struct JsonMember {
    std::string_view key; // between its quotes, escapes as they stand
    std::string_view value;
};

/// Nothing where `text` is not one object, or not one array.
std::optional<std::vector<JsonMember>> slice_object(std::string_view text);
std::optional<std::vector<std::string_view>> slice_array(std::string_view text);

} // namespace deadman::base
