# How targets are declared: each of ours by one call of one of these functions, with its sources listed by name.
#
#   deadman_module(NAME            library target deadman_NAME, alias deadman::NAME
#       SOURCES a.cc ...           none: an interface library
#       HEADERS a.h ...            public headers; each must compile on its own (target all_verify_interface_header_sets)
#       DEPS base ...              our modules that this one may include; tools/check_layers.py holds them to the table
#       PUBLIC_DEPS tl::expected   imported targets that public headers include
#       PRIVATE_DEPS CURL::libcurl imported targets that only .cc files and internal/ include
#       TESTS a_test.cc ...        make deadman_NAME_test and one ctest case of that name
#       TEST_DEPS store_memory ... more modules or imported targets for the tests
#       LABEL unit                 ctest label of the tests (default: unit)
#       TIMEOUT 120                of the tests, in seconds
#       INCLUDE_ROOT dir           what headers are included relative to (default: src/)
#       ENABLED expr)              false: its files are known to the orphan check, and nothing is built
#
#   deadman_test(NAME SOURCES ... HEADERS ... DEPS ... [LABEL contract] [TIMEOUT s] [ENABLED expr])
#                                  one GoogleTest executable NAME and one ctest case NAME
#   deadman_script_test(NAME COMMAND ... LABEL e2e [TIMEOUT s] [ENABLED expr])
#                                  a test that is a command; NEEDS targets are built before
#   deadman_executable(NAME SOURCES ... HEADERS ... DEPS ... [ENABLED expr])
#   deadman_fuzzer(NAME SOURCES ... DEPS ...)      a libFuzzer executable, part of the target 'fuzzers'
#   deadman_benchmark(NAME SOURCES ... DEPS ...)   a Google Benchmark executable, part of the target 'benchmarks'
#
# Targets to build: link_tests (each module links with nothing but its declared DEPS), unit_tests, contract_tests, ...
# (the tests of one label), fuzzers, benchmarks.

include_guard(GLOBAL)

foreach(group IN ITEMS link_tests fuzzers benchmarks)
    add_custom_target(${group})
endforeach()
foreach(label IN ITEMS unit contract sim integration chaos e2e)
    add_custom_target(${label}_tests)
endforeach()

# Every source of ours goes through here, whether its target is built or not.
function(_deadman_declare)
    foreach(file IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        set_property(GLOBAL APPEND PROPERTY DEADMAN_DECLARED_SOURCES "${file}")
    endforeach()
endfunction()

# Links names of our modules as deadman::NAME, and anything with '::' as it is.
function(_deadman_link target visibility)
    foreach(dep IN LISTS ARGN)
        if(dep MATCHES "::")
            target_link_libraries(${target} ${visibility} ${dep})
        else()
            target_link_libraries(${target} ${visibility} deadman::${dep})
        endif()
    endforeach()
endfunction()

# Is the target to be built? An absent ENABLED means yes; `if` decides what it holds.
macro(_deadman_return_unless_enabled)
    if(DEFINED arg_ENABLED)
        if(NOT (${arg_ENABLED}))
            return()
        endif()
    endif()
endmacro()

function(deadman_module name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT;INCLUDE_ROOT"
        "SOURCES;HEADERS;DEPS;PUBLIC_DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS;ENABLED")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "deadman_module(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
    endif()
    _deadman_declare(${arg_SOURCES} ${arg_HEADERS} ${arg_TESTS})
    _deadman_return_unless_enabled()
    if(NOT arg_INCLUDE_ROOT)
        set(arg_INCLUDE_ROOT "${PROJECT_SOURCE_DIR}/src")
    endif()

    set(target deadman_${name})
    if(arg_SOURCES)
        set(visibility PUBLIC)
        add_library(${target} STATIC ${arg_SOURCES})
        deadman_warnings(${target})
        _deadman_link(${target} PRIVATE ${arg_PRIVATE_DEPS})
    else()
        set(visibility INTERFACE)
        add_library(${target} INTERFACE)
    endif()
    add_library(deadman::${name} ALIAS ${target})
    target_include_directories(${target} ${visibility} "${arg_INCLUDE_ROOT}")
    target_compile_features(${target} ${visibility} cxx_std_20)
    _deadman_link(${target} ${visibility} ${arg_DEPS} ${arg_PUBLIC_DEPS})
    if(arg_HEADERS)
        target_sources(${target} ${visibility}
            FILE_SET HEADERS BASE_DIRS "${arg_INCLUDE_ROOT}" FILES ${arg_HEADERS})
    endif()
    if(arg_SOURCES)
        _deadman_link_test(${name})
    endif()
    if(arg_TESTS)
        if(NOT arg_LABEL)
            set(arg_LABEL unit)
        endif()
        if(NOT arg_TIMEOUT)
            set(arg_TIMEOUT 120)
        endif()
        deadman_test(${target}_test SOURCES ${arg_TESTS} DEPS ${name} ${arg_PRIVATE_DEPS} ${arg_TEST_DEPS}
            LABEL ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
    endif()
endfunction()

# Links the whole module against its declared dependencies only: a call into an undeclared module is an undefined symbol.
function(_deadman_link_test name)
    set(main "${PROJECT_BINARY_DIR}/link_test_main.cc")
    if(NOT EXISTS "${main}")
        file(WRITE "${main}" "int main() {}\n")
    endif()
    add_executable(deadman_${name}_link_test EXCLUDE_FROM_ALL "${main}")
    target_link_libraries(deadman_${name}_link_test PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,deadman_${name}>")
    add_dependencies(link_tests deadman_${name}_link_test)
endfunction()

function(deadman_executable name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPS;ENABLED")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "deadman_executable(${name}): what is '${arg_UNPARSED_ARGUMENTS}'?")
    endif()
    _deadman_declare(${arg_SOURCES} ${arg_HEADERS})
    _deadman_return_unless_enabled()
    add_executable(${name} ${arg_SOURCES})
    deadman_warnings(${name})
    _deadman_link(${name} PRIVATE ${arg_DEPS})
    target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
endfunction()

function(deadman_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;HEADERS;DEPS;ENABLED")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "deadman_test(${name}): no SOURCES, or what is '${arg_UNPARSED_ARGUMENTS}'?")
    endif()
    _deadman_declare(${arg_SOURCES} ${arg_HEADERS})
    _deadman_return_unless_enabled()
    if(NOT DEADMAN_TESTS)
        return()
    endif()
    deadman_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
    target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck)
    _deadman_register(${name} "${arg_LABEL}" "${arg_TIMEOUT}" $<TARGET_FILE:${name}> --gtest_brief=1)
    add_dependencies(${arg_LABEL}_tests ${name})
endfunction()

function(deadman_script_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "COMMAND;NEEDS;ENABLED")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_COMMAND)
        message(FATAL_ERROR "deadman_script_test(${name}): no COMMAND, or what is '${arg_UNPARSED_ARGUMENTS}'?")
    endif()
    _deadman_return_unless_enabled()
    if(NOT DEADMAN_TESTS)
        return()
    endif()
    _deadman_register(${name} "${arg_LABEL}" "${arg_TIMEOUT}" ${arg_COMMAND})
    if(arg_NEEDS)
        add_dependencies(${arg_LABEL}_tests ${arg_NEEDS})
    endif()
endfunction()

function(_deadman_register name label timeout)
    if(NOT TARGET ${label}_tests)
        message(FATAL_ERROR "test ${name}: '${label}' is no label (unit contract sim integration chaos e2e)")
    endif()
    if(NOT timeout)
        set(timeout 300)
    endif()
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout}
        ENVIRONMENT "GTEST_OUTPUT=json:${PROJECT_BINARY_DIR}/results/;DEADMAN_BINARY=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/deadman")
endfunction()

function(deadman_fuzzer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
    _deadman_declare(${arg_SOURCES})
    if(NOT DEADMAN_FUZZ)
        return()
    endif()
    deadman_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fuzz")
    add_dependencies(fuzzers ${name})
endfunction()

function(deadman_benchmark name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
    _deadman_declare(${arg_SOURCES})
    if(NOT DEADMAN_BENCH)
        return()
    endif()
    deadman_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} benchmark::benchmark_main)
    add_dependencies(benchmarks ${name})
endfunction()

# A source file that no target lists is not compiled and not tested, and nobody notices: so it fails the configure step.
function(deadman_check_orphans)
    set(roots src apps tests bench)
    list(TRANSFORM roots PREPEND "${PROJECT_SOURCE_DIR}/")
    list(TRANSFORM roots APPEND "/*.cc")
    file(GLOB_RECURSE files LIST_DIRECTORIES false ${roots})
    get_property(declared GLOBAL PROPERTY DEADMAN_DECLARED_SOURCES)
    list(REMOVE_ITEM files ${declared} "")
    if(NOT files)
        return()
    endif()
    list(JOIN files "\n  " orphans)
    if(DEADMAN_FATAL_ORPHANS AND NOT "$ENV{DEADMAN_ORPHANS}" STREQUAL "warn")
        message(FATAL_ERROR "these files belong to no target; list them in the CMakeLists.txt beside them:\n  ${orphans}")
    endif()
    message(WARNING "these files belong to no target:\n  ${orphans}")
endfunction()
