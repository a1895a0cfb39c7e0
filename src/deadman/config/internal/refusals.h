#pragma once
// Refusals: all that is wrong with what a process was told, gathered, so that it is mended at once.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "deadman/base/result.h"

namespace deadman::config {

class Refusals {
  public:
    /// `line` of the file; 0: it is not from there.
    void add(std::size_t line, std::string message) {
        found_.push_back({line, std::move(message)});
    }

    bool empty() const {
        return found_.empty();
    }

    /// One a line, in the file's order. REQUIRES: not empty.
    base::Error error() const {
        std::vector<Refusal> sorted = found_;
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const Refusal& a, const Refusal& b) { return a.line < b.line; });
        std::string text;
        for (const Refusal& refusal : sorted)
            text += (text.empty() ? "" : "\n") + refusal.message;
        return base::fail(base::ErrorCode::invalid_argument, std::move(text));
    }

  private:
    struct Refusal {
        std::size_t line;
        std::string message;
    };

    std::vector<Refusal> found_;
};

} // namespace deadman::config
