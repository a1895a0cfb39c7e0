#pragma once

// DEADMAN_CHECK aborts on a broken invariant, in release builds too. Never for input.

namespace deadman::base {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

} // namespace deadman::base

#define DEADMAN_CHECK(condition)                                                                   \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ::deadman::base::check_failed(#condition, __FILE__, __LINE__);                         \
    } while (false)
