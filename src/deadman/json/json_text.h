#pragma once
// JsonObject, JsonArray: JSON text, written from first to last. Raw parts keep their bytes.
//
// Thread-safety: external synchronization.

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "deadman/base/time.h"
#include "deadman/base/time_text.h"

namespace deadman::json {

/// With its quotes; what is no UTF-8 is replaced.
std::string json_string(std::string_view text);

class JsonObject {
  public:
    JsonObject& raw(std::string_view key, std::string_view json) {
        text_ += (text_.empty() ? "" : ",") + json_string(key) + ":";
        text_ += json;
        return *this;
    }

    JsonObject& text(std::string_view key, std::string_view value) {
        return raw(key, json_string(value));
    }

    /// null where it is empty.
    JsonObject& text_or_null(std::string_view key, std::string_view value) {
        return raw(key, value.empty() ? "null" : json_string(value));
    }

    JsonObject& number(std::string_view key, std::integral auto value) {
        return raw(key, std::to_string(value));
    }

    /// Two decimals.
    JsonObject& real(std::string_view key, double value);

    JsonObject& boolean(std::string_view key, std::same_as<bool> auto value) {
        return raw(key, value ? "true" : "false");
    }

    JsonObject& time(std::string_view key, std::optional<base::TimePoint> value) {
        return raw(key, value ? json_string(base::format_rfc3339(*value)) : "null");
    }

    std::string str() const {
        return "{" + text_ + "}";
    }

  private:
    std::string text_;
};

class JsonArray {
  public:
    JsonArray& raw(std::string_view json) {
        text_ += text_.empty() ? "" : ",";
        text_ += json;
        return *this;
    }

    std::string str() const {
        return "[" + text_ + "]";
    }

  private:
    std::string text_;
};

} // namespace deadman::json
