#pragma once
// Result<T>: a value or an Error; dropping one fails the build.
//
// Source: docs/DECISIONS.md 022. tl::expected has the standard's interface, so that a later move to
// std::expected changes this file only.

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

#include "deadman/base/error.h"

namespace deadman::base {

template <typename T> class [[nodiscard]] Result : public tl::expected<T, Error> {
  public:
    using tl::expected<T, Error>::expected;

    Result(Error error) : tl::expected<T, Error>(tl::unexpected<Error>(std::move(error))) {}
};

using Status = Result<void>;

inline Error fail(ErrorCode code, std::string message) {
    return make_error(code, std::move(message));
}

} // namespace deadman::base

#define DEADMAN_CONCAT_INNER(a, b) a##b
#define DEADMAN_CONCAT(a, b) DEADMAN_CONCAT_INNER(a, b)

#define DEADMAN_TRY_INNER(result, declaration, ...)                                                \
    auto result = (__VA_ARGS__);                                                                   \
    if (!result)                                                                                   \
        return std::move(result).error();                                                          \
    declaration = std::move(*result)

/// `DEADMAN_TRY(auto job, store.find(id));` binds the value, or returns the error to the caller.
#define DEADMAN_TRY(declaration, ...)                                                              \
    DEADMAN_TRY_INNER(DEADMAN_CONCAT(deadman_result_, __LINE__), declaration, __VA_ARGS__)

#define DEADMAN_TRY_STATUS_INNER(result, ...)                                                      \
    if (auto result = (__VA_ARGS__); !result)                                                      \
    return std::move(result).error()

/// `DEADMAN_TRY_STATUS(store.ping());` returns the error to the caller, if there is one.
#define DEADMAN_TRY_STATUS(...)                                                                    \
    DEADMAN_TRY_STATUS_INNER(DEADMAN_CONCAT(deadman_status_, __LINE__), __VA_ARGS__)
