#pragma once
// JsonText, JsonObject, JsonArray: building a JSON text with yyjson.
//
// Thread-safety: external synchronization.
// Ownership:     keys are literals. Raw parts are not copied: they must outlive the call of str().

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <yyjson.h>

#include "deadman/base/ids.h"
#include "deadman/base/time.h"

namespace deadman::http {

class JsonArray;

class JsonObject {
  public:
    JsonObject(yyjson_mut_doc* document, yyjson_mut_val* object)
        : document_(document), object_(object) {}

    /// Text that is not valid UTF-8 is mended.
    JsonObject& text(std::string_view key, std::string_view value);
    JsonObject& text_or_null(std::string_view key, std::string_view value);

    /// `json` as it is, byte for byte; null where it is empty.
    JsonObject& raw(std::string_view key, std::string_view json);
    JsonObject& number(std::string_view key, std::int64_t value);
    JsonObject& boolean(std::string_view key, bool value);
    JsonObject& null(std::string_view key);
    JsonObject& time(std::string_view key, std::optional<base::TimePoint> value);
    JsonObject& duration(std::string_view key, base::Duration value);
    JsonObject& texts(std::string_view key, std::span<const std::string> values);

    /// Decimal text: readers of JSON round numbers past 2^53.
    template <typename Tag> JsonObject& id(std::string_view key, base::StrongId<Tag> value) {
        return text(key, std::to_string(value.value));
    }

    template <typename Tag>
    JsonObject& id(std::string_view key, const std::optional<base::StrongId<Tag>>& value) {
        return value ? id(key, *value) : null(key);
    }

    JsonObject object(std::string_view key);
    JsonArray array(std::string_view key);

  private:
    void add(std::string_view key, yyjson_mut_val* value);

    yyjson_mut_doc* document_;
    yyjson_mut_val* object_;
};

class JsonArray {
  public:
    JsonArray(yyjson_mut_doc* document, yyjson_mut_val* array)
        : document_(document), array_(array) {}

    JsonObject object();

  private:
    yyjson_mut_doc* document_;
    yyjson_mut_val* array_;
};

/// A text whose top is an object.
class JsonText {
  public:
    JsonText();
    ~JsonText();
    JsonText(const JsonText&) = delete;
    JsonText& operator=(const JsonText&) = delete;

    JsonObject top();
    std::string str() const;

  private:
    yyjson_mut_doc* document_;
    yyjson_mut_val* top_;
};

} // namespace deadman::http
