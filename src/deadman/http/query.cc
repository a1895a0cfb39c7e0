#include "deadman/http/query.h"

#include <algorithm>

#include "deadman/base/utf8.h"
#include "deadman/domain/payload.h"

namespace deadman::http {
namespace {

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f')
        return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return static_cast<unsigned>(c - 'A' + 10);
    return std::nullopt;
}

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names)
        text += (text.empty() ? "" : ", ") + std::string(name);
    return text.empty() ? "none" : text;
}

} // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '+' && plus_is_space) {
            out += ' ';
            continue;
        }
        if (text[at] != '%') {
            out += text[at];
            continue;
        }
        if (at + 2 >= text.size())
            return std::nullopt;
        const auto high = hex_digit(text[at + 1]);
        const auto low = hex_digit(text[at + 2]);
        if (!high || !low)
            return std::nullopt;
        out += static_cast<char>(*high * 16 + *low);
        at += 2;
    }
    if (out.find('\0') != std::string::npos ||
        base::find_invalid_utf8(out) != std::string_view::npos)
        return std::nullopt;
    return out;
}

Checked<Query> Query::parse(std::string_view text, std::span<const std::string_view> known,
                            std::string_view repeatable) {
    Query query;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (part.empty())
            continue;
        const std::size_t equals = std::min(part.find('='), part.size());
        auto name = percent_decoded(part.substr(0, equals), true);
        auto value = percent_decoded(part.substr(std::min(equals + 1, part.size())), true);
        if (!name || !value)
            return invalid_parameter("query", "an escape is broken, or it is not UTF-8");
        if (std::find(known.begin(), known.end(), *name) == known.end())
            return invalid_parameter(name->empty() ? "query" : domain::clean_text(*name, 80),
                                     "is not known here; known are: " + joined(known));
        if (*name != repeatable && query.has(*name))
            return invalid_parameter(*name, "may stand there only once");
        query.pairs_.push_back({std::move(*name), std::move(*value)});
    }
    return query;
}

bool Query::has(std::string_view name) const {
    return std::any_of(pairs_.begin(), pairs_.end(),
                       [name](const Pair& pair) { return pair.name == name; });
}

std::string Query::value(std::string_view name) const {
    for (const Pair& pair : pairs_) {
        if (pair.name == name)
            return pair.value;
    }
    return {};
}

std::vector<std::string> Query::values(std::string_view name) const {
    std::vector<std::string> all;
    for (const Pair& pair : pairs_) {
        if (pair.name != name)
            continue;
        std::size_t begin = 0;
        while (begin <= pair.value.size()) {
            const std::size_t end = std::min(pair.value.find(',', begin), pair.value.size());
            all.push_back(pair.value.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    return all;
}

} // namespace deadman::http
