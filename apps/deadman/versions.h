#pragma once
// What this binary is made of. Constant data.

#include <string>

namespace deadman::cli {

struct Versions {
    std::string deadman;
    std::string commit; // "unknown" where the build had none
    std::string compiler;
    std::string sqlite;
    std::string libpq; // empty: built without Postgres
};

Versions versions();

} // namespace deadman::cli
