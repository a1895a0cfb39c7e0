#pragma once
// One HTTP request and its answer, over libcurl; and what an answer means for the run.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/domain/outcome.h"

namespace deadman::worker::internal {

struct HttpRequest {
    std::string url;
    std::vector<std::string> headers;
    std::string body;
    base::Duration timeout{};
    base::Duration connect_timeout{};
    bool allow_private_addresses = false;
    std::size_t max_body_bytes = 64 << 10; // kept, of its head; one over 4 MiB is not read further
    std::stop_token stop;
};

struct HttpAnswer {
    int status = 0;
    std::string body;
    bool truncated = false;
    std::string redirect_to; // absolute; of a 3xx that names one
    std::optional<base::Duration> retry_after;
};

/// Errors: unavailable (with what went wrong), cancelled (the stop token), invalid_argument (the
/// URL, or an address that is not allowed).
base::Result<HttpAnswer> post(const HttpRequest& request);

/// `delay` is left zero but for Retry-After: the worker's backoff stands in for it.
domain::Answer answer_of(const HttpAnswer& answer);

} // namespace deadman::worker::internal
