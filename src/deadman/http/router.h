#pragma once
// Router: which route a request is for.
//
// Thread-safety: built first, constant after.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/http/checked.h"
#include "deadman/http/exchange.h"
#include "deadman/http/request_guard.h"

namespace deadman::http {

/// Where a handler may run.
enum class RunsOn {
    event_loop, // never waits
    pool,       // may wait for the store
};

struct Route {
    std::string method;
    std::string pattern; // "/v1/jobs/{id}:cancel": at most one part in braces
    RouteAccess access;
    RunsOn runs_on = RunsOn::pool;
    bool needs_store = true; // on the pool: answered 503 at once while the store is away
    std::size_t max_body_bytes = 4096;

    /// `argument`: what stood for the part in braces, decoded.
    std::function<Checked<Response>(const Request& request, const std::string& argument)> handle;
};

struct Match {
    const Route* route = nullptr;
    std::string argument;
};

class Router {
  public:
    void add(Route route);

    /// 404, or 405 with the methods that there are.
    Checked<Match> match(const Request& request) const;

  private:
    struct Entry {
        Route route;
        std::string before; // the argument
        std::string after;
        bool has_argument = false;
    };

    static std::optional<std::string> argument_of(const Entry& entry, std::string_view path);

    std::vector<Entry> entries_;
};

} // namespace deadman::http
