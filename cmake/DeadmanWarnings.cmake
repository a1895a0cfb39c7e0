# deadman_warnings(target): the warnings every target of ours is compiled with.

function(deadman_warnings target)
    if(MSVC)
        target_compile_options(${target} PRIVATE /W4 /permissive- /utf-8 /Zc:__cplusplus /Zc:preprocessor)
        target_compile_definitions(${target} PRIVATE NOMINMAX WIN32_LEAN_AND_MEAN _CRT_SECURE_NO_WARNINGS)
        if(DEADMAN_WERROR)
            target_compile_options(${target} PRIVATE /WX)
        endif()
        return()
    endif()
    # Clang, unlike GCC, lets -Wconversion switch -Wsign-conversion on: it is noise around the standard library's sizes.
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
    # Parameter structs are filled by name and rely on the defaults of what is left out, which -Wextra warns about.
    target_compile_options(${target} PRIVATE -Wno-missing-field-initializers)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        target_compile_options(${target} PRIVATE -Wthread-safety)
    endif()
    if(DEADMAN_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE -Wno-tsan) # GCC warns on every atomic_thread_fence, also the library's
    endif()
    if(DEADMAN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # The instrumentation hides from GCC what it needs to see that these are initialized.
        target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
    if(DEADMAN_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
endfunction()
