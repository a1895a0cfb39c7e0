#include "apps/deadman/http_backend.h"

namespace deadman::cli {

base::Result<std::unique_ptr<JobBackend>> make_http_backend(const std::string& url,
                                                            const std::string& /*token_file*/) {
    return base::fail(base::ErrorCode::unavailable,
                      "no server answers at " + url +
                          "; to start one: deadman serve (or talk to a store: --store URL)");
}

} // namespace deadman::cli
