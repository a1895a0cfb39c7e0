#pragma once
// The schema's steps, from migrations/*.sql, in order.

#include <span>
#include <string_view>

namespace deadman::store::postgres {

struct Migration {
    int version = 0;
    std::string_view name;
    std::string_view sql;
};

std::span<const Migration> migrations();

} // namespace deadman::store::postgres
