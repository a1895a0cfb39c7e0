# Third-party libraries. A CMake package where there is one (vcpkg has one for each), pkg-config where Debian ships none.

find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(tomlplusplus CONFIG REQUIRED)
find_package(yyjson CONFIG REQUIRED)
find_package(tl-expected CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)

find_package(libpqxx CONFIG QUIET)
if(NOT TARGET libpqxx::pqxx)
    pkg_check_modules(PQXX REQUIRED IMPORTED_TARGET libpqxx>=7.7)
    add_library(libpqxx::pqxx ALIAS PkgConfig::PQXX)
endif()

if(DEADMAN_HTTP)
    # Drogon's package files are talkative, and use what CMake has deprecated; nothing to be done about it here.
    if(POLICY CMP0153)
        cmake_policy(SET CMP0153 OLD)
    endif()
    set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
    find_package(Drogon CONFIG QUIET REQUIRED)
    unset(CMAKE_MESSAGE_LOG_LEVEL)
endif()

if(DEADMAN_TESTS)
    find_package(GTest CONFIG REQUIRED)
    find_package(rapidcheck CONFIG REQUIRED)
endif()

if(DEADMAN_BENCH)
    find_package(benchmark CONFIG REQUIRED)
endif()
