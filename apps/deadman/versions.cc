#include "apps/deadman/versions.h"

#include <sqlite3.h>

#ifdef DEADMAN_WITH_LIBPQ
#include <libpq-fe.h>
#endif

namespace deadman::cli {
namespace {

std::string libpq_version() {
#ifdef DEADMAN_WITH_LIBPQ
    const int number = PQlibVersion(); // 170004 is 17.4
    return std::to_string(number / 10'000) + "." + std::to_string(number % 10'000);
#else
    return "";
#endif
}

std::string compiler_version() {
#if defined(__clang__)
    return std::string("Clang ") + __clang_version__;
#elif defined(__GNUC__)
    return std::string("GCC ") + __VERSION__;
#elif defined(_MSC_VER)
    return "MSVC " + std::to_string(_MSC_VER);
#else
    return "unknown";
#endif
}

} // namespace

Versions versions() {
    return {.deadman = DEADMAN_VERSION,
            .commit = DEADMAN_COMMIT,
            .compiler = compiler_version(),
            .sqlite = sqlite3_libversion(),
            .libpq = libpq_version()};
}

} // namespace deadman::cli
