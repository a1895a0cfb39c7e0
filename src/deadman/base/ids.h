#pragma once
// Strong 64-bit ids: a JobId is never a Fence by accident.

#include <compare>
#include <cstdint>
#include <functional>

namespace deadman::base {

template <typename Tag> struct StrongId {
    std::int64_t value = 0;

    friend auto operator<=>(const StrongId&, const StrongId&) = default;
};

} // namespace deadman::base

template <typename Tag> struct std::hash<deadman::base::StrongId<Tag>> {
    std::size_t operator()(const deadman::base::StrongId<Tag>& id) const noexcept {
        return std::hash<std::int64_t>{}(id.value);
    }
};
