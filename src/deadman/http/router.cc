#include "deadman/http/router.h"

#include "deadman/domain/payload.h"
#include "deadman/http/query.h"

namespace deadman::http {

void Router::add(Route route) {
    Entry entry;
    const std::size_t open = route.pattern.find('{');
    const std::size_t close = route.pattern.find('}');
    entry.has_argument = open != std::string::npos;
    entry.before = route.pattern.substr(0, open);
    if (entry.has_argument)
        entry.after = route.pattern.substr(close + 1);
    entry.route = std::move(route);
    entries_.push_back(std::move(entry));
}

std::optional<std::string> Router::argument_of(const Entry& entry, std::string_view path) {
    if (!entry.has_argument)
        return path == entry.before ? std::optional<std::string>("") : std::nullopt;
    if (path.size() <= entry.before.size() + entry.after.size() ||
        !path.starts_with(entry.before) || !path.ends_with(entry.after))
        return std::nullopt;
    path.remove_prefix(entry.before.size());
    path.remove_suffix(entry.after.size());
    // A plain "{id}" does not take what an "{id}:verb" or a deeper path would be.
    if (path.find('/') != std::string_view::npos ||
        (entry.after.empty() && path.find(':') != std::string_view::npos))
        return std::nullopt;
    return percent_decoded(path, false);
}

Checked<Match> Router::match(const Request& request) const {
    std::string allowed;
    for (const Entry& entry : entries_) {
        auto argument = argument_of(entry, request.path);
        if (!argument)
            continue;
        if (entry.route.method == request.method)
            return Match{&entry.route, std::move(*argument)};
        allowed += (allowed.empty() ? "" : ", ") + entry.route.method;
    }
    if (allowed.empty())
        return Problem{404, "not_found", "there is nothing at this path", {}, {}, {}};
    Problem problem{405, "method_not_allowed", "allowed here: " + allowed, {}, {}, {}};
    problem.headers.emplace_back("Allow", allowed);
    return problem;
}

} // namespace deadman::http
