#include "deadman/http/request_guard.h"

#include <algorithm>
#include <array>

#include "deadman/http/internal/digest.h"

namespace deadman::http {
namespace {

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    const std::size_t end = text.find_last_not_of(" \t");
    return begin == text.size() ? std::string_view() : text.substr(begin, end - begin + 1);
}

/// An address cannot be rebound by a name server, so it may be anything. Names of only digits and
/// dots, or with a colon, are addresses.
bool is_address(std::string_view host) {
    return !host.empty() && (host.find(':') != std::string_view::npos ||
                             host.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool is_json(std::string_view content_type) {
    const std::string_view media = content_type.substr(0, content_type.find(';'));
    return lower(trimmed(media)) == "application/json";
}

Problem refused(int status, std::string code, std::string detail) {
    return {status, std::move(code), std::move(detail), {}, {}, {}};
}

} // namespace

std::string host_without_port(std::string_view authority) {
    if (authority.starts_with('[')) {
        const std::size_t end = authority.find(']');
        return lower(end == std::string_view::npos ? authority : authority.substr(1, end - 1));
    }
    // More than one colon without brackets: an IPv6 address that stands bare.
    const std::size_t colon = authority.find(':');
    if (colon != std::string_view::npos && authority.rfind(':') == colon)
        authority = authority.substr(0, colon);
    std::string host = lower(authority);
    if (host.ends_with('.'))
        host.pop_back();
    return host;
}

RequestGuard::RequestGuard(GuardOptions options) : options_(std::move(options)) {}

bool RequestGuard::is_our_host(std::string_view host) const {
    static constexpr std::array<std::string_view, 3> loopback{"localhost", "127.0.0.1", "::1"};
    return std::find(loopback.begin(), loopback.end(), host) != loopback.end() ||
           std::find(options_.hosts.begin(), options_.hosts.end(), host) != options_.hosts.end() ||
           (options_.any_address && is_address(host));
}

std::optional<Problem> RequestGuard::check_sender(const Request& request) const {
    const std::string_view host = request.header("host");
    if (host.empty())
        return refused(400, "malformed_request", "the Host header is missing");
    if (!is_our_host(host_without_port(host)))
        return refused(421, "foreign_host",
                       "name the server by the address that it listens on, or by a name that its "
                       "configuration lists");
    const std::string_view origin = request.header("origin");
    if (origin.empty())
        return std::nullopt;
    const std::size_t scheme = origin.find("://");
    const bool is_ours =
        scheme != std::string_view::npos && lower(origin.substr(scheme + 3)) == lower(host);
    if (!is_ours)
        return refused(403, "cross_site", "the Origin is not this server");
    return std::nullopt;
}

std::optional<Problem> RequestGuard::check_access(const Request& request,
                                                  const RouteAccess& access) const {
    if (access.changes_state && request.header("sec-fetch-site") == "cross-site")
        return refused(403, "cross_site", "the browser says that another site sent this");
    if (access.needs_token && !options_.token.empty()) {
        const std::string_view given = request.header("authorization");
        const bool is_bearer = given.size() > 7 && lower(given.substr(0, 7)) == "bearer ";
        if (!is_bearer || !equal_in_constant_time(trimmed(given.substr(7)), options_.token)) {
            Problem problem =
                refused(401, "unauthorised", "send the header 'Authorization: Bearer TOKEN'");
            problem.headers.emplace_back("WWW-Authenticate", "Bearer");
            return problem;
        }
    }
    const std::string_view content_type = request.header("content-type");
    const bool must_be_json = access.has_body || (access.changes_state && !content_type.empty());
    if (must_be_json && !is_json(content_type))
        return refused(415, "unsupported_media_type",
                       "send the header 'Content-Type: application/json'");
    return std::nullopt;
}

} // namespace deadman::http
