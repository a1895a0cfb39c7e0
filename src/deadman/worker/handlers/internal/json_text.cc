#include "deadman/worker/handlers/internal/json_text.h"

#include <algorithm>

#include "deadman/domain/job.h"
#include "deadman/domain/payload.h"

namespace deadman::worker::internal {
namespace {

std::string compose(std::string_view fields, std::initializer_list<KeptOutput> outputs,
                    bool truncated, std::size_t share) {
    std::string json = "{" + std::string(fields);
    for (const KeptOutput& output : outputs) {
        truncated = truncated || output.bytes.size() > share;
        json += json.size() > 1 ? "," : "";
        json +=
            json_string(output.name) + ":" + json_string(domain::clean_text(output.bytes, share));
    }
    return json + ",\"truncated\":" + (truncated ? "true" : "false") + "}";
}

} // namespace

std::string json_string(std::string_view text) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string json = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            json += '\\';
            json += c;
        } else if (c == '\n') {
            json += "\\n";
        } else if (c == '\t') {
            json += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            json += "\\u00";
            json += digits[byte >> 4];
            json += digits[byte & 15U];
        } else {
            json += c;
        }
    }
    return json + "\"";
}

std::string output_json(std::string_view fields, std::initializer_list<KeptOutput> outputs,
                        bool truncated) {
    constexpr std::size_t max_bytes = domain::largest_result_bytes;
    // Escaping makes a byte at most six; the share is halved until it fits, a few times at most.
    for (std::size_t share = max_bytes / std::max<std::size_t>(outputs.size(), 1); share > 64;
         share /= 2) {
        std::string json = compose(fields, outputs, truncated, share);
        if (json.size() <= max_bytes)
            return json;
    }
    return compose(fields, {}, true, 0);
}

} // namespace deadman::worker::internal
