# Writes OUTPUT, a source file whose NAMESPACE::FUNCTION() (declared in HEADER) returns the bytes of INPUT.

file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {

constexpr char bytes[] = {
${bytes}
};

} // namespace

std::string_view ${FUNCTION}() {
    return {bytes, sizeof bytes};
}

} // namespace ${NAMESPACE}
")
