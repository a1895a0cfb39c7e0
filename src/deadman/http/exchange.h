#pragma once
// Request, Response: one exchange as the API sees it, without the server's library.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deadman::http {

struct Request {
    std::string method; // "GET" for HEAD too
    std::string path;   // as it was sent, without the query: still percent-encoded
    std::string query;  // as it was sent, without its '?'
    std::map<std::string, std::string, std::less<>> headers; // names in lower case
    std::string body;
    std::string id; // of the request: X-Request-Id

    /// Empty where it is not there.
    std::string_view header(std::string_view name) const {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string_view() : std::string_view(found->second);
    }
};

struct Response {
    int status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
};

} // namespace deadman::http
