#pragma once
// A JobBackend that is a server's HTTP API.

#include <memory>
#include <string>

#include "apps/deadman/backend.h"

namespace deadman::cli {

base::Result<std::unique_ptr<JobBackend>> make_http_backend(const std::string& url,
                                                            const std::string& token_file);

} // namespace deadman::cli
