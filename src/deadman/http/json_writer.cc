#include "deadman/http/internal/json_writer.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "deadman/base/check.h"
#include "deadman/base/duration_text.h"
#include "deadman/base/time_text.h"
#include "deadman/base/utf8.h"
#include "deadman/domain/payload.h"

namespace deadman::http {
namespace {

/// yyjson answers nullptr where memory has run out, and there alone.
template <typename T> T* made(T* value) {
    if (value == nullptr)
        throw std::bad_alloc();
    return value;
}

yyjson_mut_val* text_value(yyjson_mut_doc* document, std::string_view text) {
    if (base::find_invalid_utf8(text) == std::string_view::npos)
        return made(yyjson_mut_strncpy(document, text.data(), text.size()));
    const std::string clean = domain::clean_text(text, text.size() * 3);
    return made(yyjson_mut_strncpy(document, clean.data(), clean.size()));
}

} // namespace

void JsonObject::add(std::string_view key, yyjson_mut_val* value) {
    yyjson_mut_obj_add(object_, made(yyjson_mut_strn(document_, key.data(), key.size())), value);
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
    add(key, text_value(document_, value));
    return *this;
}

JsonObject& JsonObject::text_or_null(std::string_view key, std::string_view value) {
    return value.empty() ? null(key) : text(key, value);
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
    if (json.empty())
        return null(key);
    add(key, made(yyjson_mut_rawn(document_, json.data(), json.size())));
    return *this;
}

JsonObject& JsonObject::number(std::string_view key, std::int64_t value) {
    add(key, made(yyjson_mut_sint(document_, value)));
    return *this;
}

JsonObject& JsonObject::boolean(std::string_view key, bool value) {
    add(key, made(yyjson_mut_bool(document_, value)));
    return *this;
}

JsonObject& JsonObject::null(std::string_view key) {
    add(key, made(yyjson_mut_null(document_)));
    return *this;
}

JsonObject& JsonObject::time(std::string_view key, std::optional<base::TimePoint> value) {
    return value ? text(key, base::format_rfc3339(*value)) : null(key);
}

JsonObject& JsonObject::duration(std::string_view key, base::Duration value) {
    return text(key, base::format_duration(value));
}

JsonObject& JsonObject::texts(std::string_view key, std::span<const std::string> values) {
    yyjson_mut_val* list = made(yyjson_mut_arr(document_));
    for (const std::string& value : values)
        yyjson_mut_arr_append(list, text_value(document_, value));
    add(key, list);
    return *this;
}

JsonObject JsonObject::object(std::string_view key) {
    yyjson_mut_val* value = made(yyjson_mut_obj(document_));
    add(key, value);
    return {document_, value};
}

JsonArray JsonObject::array(std::string_view key) {
    yyjson_mut_val* value = made(yyjson_mut_arr(document_));
    add(key, value);
    return {document_, value};
}

JsonObject JsonArray::object() {
    yyjson_mut_val* value = made(yyjson_mut_obj(document_));
    yyjson_mut_arr_append(array_, value);
    return {document_, value};
}

JsonText::JsonText()
    : document_(made(yyjson_mut_doc_new(nullptr))), top_(made(yyjson_mut_obj(document_))) {
    yyjson_mut_doc_set_root(document_, top_);
}

JsonText::~JsonText() {
    yyjson_mut_doc_free(document_);
}

JsonObject JsonText::top() {
    return {document_, top_};
}

std::string JsonText::str() const {
    std::size_t size = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(yyjson_mut_write(document_, 0, &size),
                                                           &std::free);
    return {made(text.get()), size};
}

} // namespace deadman::http
