#pragma once
// Transport: one HTTP exchange at a time over a kept connection, by libcurl.
//
// Thread-safety: external synchronization.
// Blocking:      exchange(), up to the times given.

#include <memory>
#include <string>

#include "deadman/base/result.h"
#include "deadman/client/api_client.h"

namespace deadman::client {

struct Call {
    std::string method = "GET";
    std::string path; // with its query
    std::string body;
};

struct Reply {
    int status = 0;
    std::string body;
    std::string request_id;
};

class Transport {
  public:
    static base::Result<std::unique_ptr<Transport>> create(const ClientOptions& options);
    ~Transport();

    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    /// Any status is a reply. unavailable: it did not get there; `unreachable` says whether nobody
    /// listens. outcome_unknown: it may have been done, and was no mere question.
    base::Result<Reply> exchange(const Call& call, bool& unreachable);

  private:
    struct Handles;

    Transport(std::string url, std::unique_ptr<Handles> handles);

    std::string url_; // without a slash at its end
    std::unique_ptr<Handles> handles_;
};

/// With %XX for all but letters, digits and - . _ ~
std::string percent_encoded(std::string_view text);

} // namespace deadman::client
