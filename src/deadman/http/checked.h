#pragma once
// Checked<T>: a value, or the Problem that the client is answered with.

#include <tl/expected.hpp>

#include "deadman/base/result.h"
#include "deadman/http/problem.h"

namespace deadman::http {

template <typename T> class [[nodiscard]] Checked : public tl::expected<T, Problem> {
  public:
    using tl::expected<T, Problem>::expected;

    Checked(Problem problem)
        : tl::expected<T, Problem>(tl::unexpected<Problem>(std::move(problem))) {}
};

/// The store's answer, its error turned into a Problem.
template <typename T> Checked<T> checked(base::Result<T> result) {
    if (!result)
        return problem_of(result.error());
    if constexpr (std::is_void_v<T>)
        return {};
    else
        return std::move(*result);
}

} // namespace deadman::http
