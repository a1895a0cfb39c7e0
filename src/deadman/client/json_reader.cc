#include "deadman/client/internal/json_reader.h"

#include <charconv>
#include <limits>
#include <memory>

#include <yyjson.h>

#include "deadman/base/duration_text.h"
#include "deadman/base/json_slices.h"
#include "deadman/domain/time_words.h"

namespace deadman::client {
namespace {

using Document = std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)>;

Document parse(std::string_view json) {
    return {yyjson_read(json.data(), json.size(), YYJSON_READ_NOFLAG), &yyjson_doc_free};
}

} // namespace

std::optional<std::string> read_json_string(std::string_view json) {
    const Document document = parse(json);
    yyjson_val* root = yyjson_doc_get_root(document.get());
    if (!yyjson_is_str(root))
        return std::nullopt;
    return std::string(yyjson_get_str(root), yyjson_get_len(root));
}

JsonReader::JsonReader(std::string_view text) {
    const auto members = base::slice_object(text);
    if (!members) {
        wrong_ = "the object itself";
        return;
    }
    for (const base::JsonMember& member : *members)
        members_.emplace(std::string(member.key), member.value);
}

void JsonReader::note(std::string_view name) {
    if (wrong_.empty())
        wrong_ = std::string(name);
}

bool JsonReader::is_null(std::string_view name) const {
    const auto found = members_.find(name);
    return found == members_.end() || found->second == "null";
}

std::string_view JsonReader::slice(std::string_view name) {
    const auto found = members_.find(name);
    if (found != members_.end())
        return found->second;
    note(name);
    return "null";
}

std::string JsonReader::raw(std::string_view name) {
    return std::string(slice(name));
}

std::string JsonReader::text(std::string_view name) {
    auto value = read_json_string(slice(name));
    if (!value)
        note(name);
    return value.value_or(std::string());
}

std::string JsonReader::text_or_empty(std::string_view name) {
    return is_null(name) ? std::string() : text(name);
}

std::int64_t JsonReader::number(std::string_view name) {
    const std::string_view json = slice(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), value);
    if (error != std::errc() || end != json.data() + json.size())
        note(name);
    return value;
}

int JsonReader::small(std::string_view name) {
    const std::int64_t value = number(name);
    if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
        note(name);
        return 0;
    }
    return static_cast<int>(value);
}

bool JsonReader::boolean(std::string_view name) {
    const std::string_view json = slice(name);
    if (json != "true" && json != "false")
        note(name);
    return json == "true";
}

base::TimePoint JsonReader::time(std::string_view name) {
    const auto value = domain::parse_rfc3339(text(name));
    if (!value)
        note(name);
    return value.value_or(base::TimePoint{});
}

std::optional<base::TimePoint> JsonReader::optional_time(std::string_view name) {
    if (is_null(name))
        return std::nullopt;
    return time(name);
}

base::Duration JsonReader::duration(std::string_view name) {
    const auto value = base::parse_duration(text(name));
    if (!value)
        note(name);
    return value.value_or(base::Duration{});
}

std::vector<std::string_view> JsonReader::items(std::string_view name) {
    auto values = base::slice_array(slice(name));
    if (!values)
        note(name);
    return values.value_or(std::vector<std::string_view>());
}

std::vector<std::string> JsonReader::texts(std::string_view name) {
    std::vector<std::string> all;
    for (const std::string_view item : items(name)) {
        auto value = read_json_string(item);
        if (!value)
            note(name);
        all.push_back(value.value_or(std::string()));
    }
    return all;
}

std::optional<std::int64_t> JsonReader::id_value(std::string_view name) {
    const std::string digits = text(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size() && !digits.empty())
        return value;
    note(name);
    return std::nullopt;
}

base::Status JsonReader::problem() const {
    if (wrong_.empty())
        return {};
    return base::fail(base::ErrorCode::internal, "the server's answer is not understood: " +
                                                     wrong_ + "; is it another version?");
}

} // namespace deadman::client
