#pragma once
// JSON that handlers write: kept output as a result.

#include <initializer_list>
#include <string>
#include <string_view>

namespace deadman::worker::internal {

/// `text` as a JSON string, quotes included. REQUIRES: valid UTF-8 without NUL.
std::string json_string(std::string_view text);

struct KeptOutput {
    std::string_view name;  // of the member
    std::string_view bytes; // raw
};

/// An object of `fields` (ready JSON members, may be empty), the outputs as strings, and
/// "truncated"; as long as a store takes results at most: what does not fit once escaped is cut, on
/// a character border, and marked.
std::string output_json(std::string_view fields, std::initializer_list<KeptOutput> outputs,
                        bool truncated);

} // namespace deadman::worker::internal
