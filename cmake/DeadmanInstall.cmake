# What `cmake --install` puts where: the binary, and libdeadman with its header and package files.
#
# The library is shared, so that whoever links it needs none of the libraries behind it; only what the
# public header declares is visible.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(nothing "${PROJECT_BINARY_DIR}/deadman_shared.cc") # all code comes from the modules
if(NOT EXISTS "${nothing}")
    file(WRITE "${nothing}" "")
endif()
add_library(deadman_shared SHARED "${nothing}")
set_target_properties(deadman_shared PROPERTIES
    OUTPUT_NAME deadman
    EXPORT_NAME deadman
    LINKER_LANGUAGE CXX
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
target_link_libraries(deadman_shared PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,deadman_embedded>")
target_compile_features(deadman_shared INTERFACE cxx_std_20)
target_sources(deadman_shared INTERFACE
    FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
    FILES "${PROJECT_SOURCE_DIR}/include/deadman/deadman.h")

install(TARGETS deadman RUNTIME)
install(TARGETS deadman_shared EXPORT deadman_targets LIBRARY ARCHIVE RUNTIME FILE_SET HEADERS)
install(EXPORT deadman_targets
    NAMESPACE deadman::
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/deadman"
    FILE deadman-config.cmake)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/deadman-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/deadman-config-version.cmake"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/deadman")
install(FILES docs/deadman.sample.toml TYPE DOC)
