#include "deadman/store/postgres/internal/array_text.h"

#include <utility>

namespace deadman::store::postgres {

void ArrayText::add(std::string_view value) {
    separate();
    text_ += '"';
    for (const char c : value) {
        if (c == '"' || c == '\\')
            text_ += '\\';
        text_ += c;
    }
    text_ += '"';
}

void ArrayText::add_null() {
    separate();
    text_ += "NULL";
}

std::string ArrayText::take() {
    if (text_.empty())
        text_ = "{";
    text_ += '}';
    return std::exchange(text_, {});
}

std::vector<std::int64_t> parse_bigints(std::string_view text) {
    std::vector<std::int64_t> values;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        std::int64_t value = 0;
        const auto [next, error] = std::from_chars(at, end, value);
        if (error == std::errc{}) {
            values.push_back(value);
            at = next;
        } else {
            ++at; // a brace or a comma
        }
    }
    return values;
}

// Names of queues and kinds: ASCII without escapes beyond what any quoting has.
std::vector<std::string> parse_json_strings(std::string_view json) {
    std::vector<std::string> values;
    bool inside = false;
    for (std::size_t at = 0; at < json.size(); ++at) {
        if (json[at] == '"') {
            if (!inside)
                values.emplace_back();
            inside = !inside;
        } else if (inside) {
            if (json[at] == '\\' && at + 1 < json.size())
                ++at;
            values.back() += json[at];
        }
    }
    return values;
}

std::string text_array(const std::vector<std::string>& values) {
    ArrayText array;
    for (const std::string& value : values)
        array.add(value);
    return array.take();
}

} // namespace deadman::store::postgres
