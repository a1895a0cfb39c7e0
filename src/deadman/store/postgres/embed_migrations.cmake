# cmake -P embed_migrations.cmake OUTPUT FILE...: writes a C++ source with the files' bytes, so that the binary needs no files beside it.
set(output "${CMAKE_ARGV3}")
set(arrays "")
set(entries "")
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE 4 ${last})
    set(file "${CMAKE_ARGV${index}}")
    get_filename_component(name "${file}" NAME_WE)
    if(NOT name MATCHES "^0*([1-9][0-9]*)_(.+)$")
        message(FATAL_ERROR "${file}: a migration is named NUMBER_WORDS.sql")
    endif()
    set(version "${CMAKE_MATCH_1}")
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(................................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
    string(APPEND arrays "constexpr char sql_${version}[] = {\n${hex}};\n")
    string(APPEND entries "    Migration{${version}, \"${name}\", std::string_view(sql_${version}, sizeof sql_${version})},\n")
endforeach()
file(WRITE "${output}" "#include \"deadman/store/postgres/internal/migrations.h\"

namespace deadman::store::postgres {
namespace {

${arrays}
constexpr Migration all[] = {
${entries}};

} // namespace

std::span<const Migration> migrations() {
    return all;
}

} // namespace deadman::store::postgres
")
