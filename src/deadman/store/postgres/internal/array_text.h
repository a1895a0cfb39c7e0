#pragma once
// Arrays as the server reads them: one parameter carries a whole column of a batch.

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deadman::store::postgres {

class ArrayText {
  public:
    // A template, so that a text literal is not taken for a bool.
    template <std::integral Number> void add(Number value) {
        separate();
        if constexpr (std::same_as<Number, bool>) {
            text_ += value ? 't' : 'f';
        } else {
            char digits[24];
            const auto end =
                std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(value));
            text_.append(digits, end.ptr);
        }
    }

    void add(std::string_view value);
    void add_null();

    /// Null where the text is empty: how absent names and texts are stored.
    void add_or_null(std::string_view value) {
        value.empty() ? add_null() : add(value);
    }

    std::string take();

  private:
    void separate() {
        text_ += text_.empty() ? '{' : ',';
    }

    std::string text_;
};

/// Reads what the server writes for bigint[].
std::vector<std::int64_t> parse_bigints(std::string_view text);

/// Reads what array_to_json writes for text[].
std::vector<std::string> parse_json_strings(std::string_view json);

std::string text_array(const std::vector<std::string>& values);

} // namespace deadman::store::postgres
