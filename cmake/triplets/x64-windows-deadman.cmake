# x64-windows, but with a static libpqxx: its shared library exports inline functions of the standard library, which
# collide with those of GoogleTest at link time.
set(VCPKG_TARGET_ARCHITECTURE x64)
set(VCPKG_CRT_LINKAGE dynamic)
set(VCPKG_LIBRARY_LINKAGE dynamic)
if(PORT STREQUAL "libpqxx")
    set(VCPKG_LIBRARY_LINKAGE static)
endif()
