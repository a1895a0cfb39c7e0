#pragma once
// RequestGuard: who may drive this server. Pure checks of one request's headers.
//
// Contract:      a web page of another site can do nothing here: foreign hosts (DNS rebinding),
// foreign
//                origins and the content types of plain forms are refused. With a token, everything
//                but the health checks asks for it.
// Thread-safety: safe for concurrent use.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/http/exchange.h"
#include "deadman/http/problem.h"

namespace deadman::http {

struct GuardOptions {
    std::vector<std::string> hosts; // beside the loopback names; lower case, without ports
    bool any_address = false;       // listening everywhere: any IP address will do as a host
    std::string token;              // empty: none is asked for
};

/// What a route asks of its callers.
struct RouteAccess {
    bool needs_token = true;
    bool changes_state = false;
    bool has_body = false; // then application/json, also where the body is empty
};

class RequestGuard {
  public:
    explicit RequestGuard(GuardOptions options);

    /// Of every request, before it is known what it wants.
    std::optional<Problem> check_sender(const Request& request) const;

    std::optional<Problem> check_access(const Request& request, const RouteAccess& access) const;

  private:
    bool is_our_host(std::string_view host) const;

    GuardOptions options_;
};

/// "127.0.0.1:7350", "[::1]:7350", "name:7350" without the port and brackets, in lower case.
std::string host_without_port(std::string_view authority);

} // namespace deadman::http
