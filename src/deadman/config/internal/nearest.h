#pragma once
// What somebody may have meant by a name that does not exist.

#include <string>
#include <string_view>
#include <vector>

namespace deadman::config {

/// The name that is the fewest slips away, or empty where none is near.
std::string nearest(std::string_view wrong, const std::vector<std::string>& names);

} // namespace deadman::config
