#include "deadman/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace deadman::base {

void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "deadman: broken invariant %s at %s:%d\n", condition, file, line);
    std::abort();
}

} // namespace deadman::base
