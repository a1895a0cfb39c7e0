#include "deadman/base/utf8.h"

#include "deadman/base/check.h"

namespace deadman::base {
namespace {

/// How a lead byte goes on: how many bytes follow, and which values the first of them may have.
/// The narrowed ranges shut out overlong forms, surrogates and values past U+10FFFF.
struct Lead {
    unsigned following = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
};

Lead classify(unsigned char byte) {
    if (byte >= 0xC2 && byte <= 0xDF)
        return {.following = 1};
    if (byte == 0xE0)
        return {.following = 2, .low = 0xA0};
    if (byte == 0xED)
        return {.following = 2, .high = 0x9F};
    if (byte >= 0xE1 && byte <= 0xEF)
        return {.following = 2};
    if (byte == 0xF0)
        return {.following = 3, .low = 0x90};
    if (byte >= 0xF1 && byte <= 0xF3)
        return {.following = 3};
    if (byte == 0xF4)
        return {.following = 3, .high = 0x8F};
    return {};
}

} // namespace

Utf8Step utf8_step(std::string_view text, std::size_t at) {
    DEADMAN_CHECK(at < text.size());
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80)
        return {.length = 1, .valid = true};
    Lead lead = classify(byte);
    if (lead.following == 0)
        return {.length = 1, .valid = false};
    for (std::size_t i = 1; i <= lead.following; ++i) {
        if (at + i >= text.size())
            return {.length = i, .valid = false};
        const auto next = static_cast<unsigned char>(text[at + i]);
        if (next < lead.low || next > lead.high)
            return {.length = i, .valid = false};
        lead.low = 0x80;
        lead.high = 0xBF;
    }
    return {.length = lead.following + 1, .valid = true};
}

std::size_t find_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        if (static_cast<unsigned char>(text[at]) < 0x80) {
            ++at;
            continue;
        }
        const Utf8Step step = utf8_step(text, at);
        if (!step.valid)
            return at;
        at += step.length;
    }
    return std::string_view::npos;
}

} // namespace deadman::base
