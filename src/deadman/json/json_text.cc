#include "deadman/json/json_text.h"

#include <cstdio>

#include "deadman/base/utf8.h"
#include "deadman/domain/payload.h"

namespace deadman::json {

std::string json_string(std::string_view text) {
    if (base::find_invalid_utf8(text) != std::string_view::npos)
        return json_string(domain::clean_text(text, text.size() * 3));
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escaped[16];
            std::snprintf(escaped, sizeof escaped, "\\u%04x",
                          static_cast<unsigned>(static_cast<unsigned char>(c)));
            quoted += escaped;
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

JsonObject& JsonObject::real(std::string_view key, double value) {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.2f", value);
    return raw(key, digits);
}

} // namespace deadman::json
