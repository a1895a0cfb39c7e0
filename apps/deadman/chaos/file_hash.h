#pragma once
// The SHA-256 of a file, in lower-case hex as sha256sum prints it.

#include <string>

#include "deadman/base/result.h"

namespace deadman::chaos {

base::Result<std::string> sha256_of_file(const std::string& path);

} // namespace deadman::chaos
