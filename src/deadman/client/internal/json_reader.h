#pragma once
// JsonReader: the members of one object of the server's, by name and type.
//
// Contract:      a member that is missing or of another type gives the default and is noted: ask
//                problem() at the end. null counts as missing where an optional is asked for.
// Thread-safety: external synchronization.
// Ownership:     the text must outlive the reader.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/base/ids.h"
#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::client {

class JsonReader {
  public:
    explicit JsonReader(std::string_view text);

    std::string text(std::string_view name);
    std::string text_or_empty(std::string_view name); // also where it is null or missing
    std::int64_t number(std::string_view name);
    int small(std::string_view name);
    bool boolean(std::string_view name);
    base::TimePoint time(std::string_view name);
    std::optional<base::TimePoint> optional_time(std::string_view name);
    base::Duration duration(std::string_view name);
    std::vector<std::string> texts(std::string_view name);

    /// As it stands, byte for byte.
    std::string raw(std::string_view name);
    std::string_view slice(std::string_view name);

    /// The elements of an array, as they stand.
    std::vector<std::string_view> items(std::string_view name);

    template <typename Id> Id id(std::string_view name) {
        return Id{id_value(name).value_or(0)};
    }

    template <typename Id> std::optional<Id> optional_id(std::string_view name) {
        if (is_null(name))
            return std::nullopt;
        return id<Id>(name);
    }

    /// internal, with what was wrong first.
    base::Status problem() const;

    void note(std::string_view name);

  private:
    bool is_null(std::string_view name) const;
    std::optional<std::int64_t> id_value(std::string_view name);

    std::map<std::string, std::string_view, std::less<>> members_;
    std::string wrong_; // the first name
};

/// The text of a JSON string.
std::optional<std::string> read_json_string(std::string_view json);

} // namespace deadman::client
