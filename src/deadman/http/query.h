#pragma once
// The query of a request: names and values, decoded.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deadman/http/checked.h"

namespace deadman::http {

/// %41 and, with `plus_is_space`, '+'. Nothing where an escape is broken or a NUL comes out.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

class Query {
  public:
    /// Refuses broken escapes, names that are not among `known`, and repeated ones but for
    /// `repeatable`.
    static Checked<Query> parse(std::string_view text, std::span<const std::string_view> known,
                                std::string_view repeatable = {});

    bool has(std::string_view name) const;

    /// Empty where it is not there.
    std::string value(std::string_view name) const;

    /// Every one, split at commas.
    std::vector<std::string> values(std::string_view name) const;

  private:
    struct Pair {
        std::string name;
        std::string value;
    };

    std::vector<Pair> pairs_;
};

} // namespace deadman::http
