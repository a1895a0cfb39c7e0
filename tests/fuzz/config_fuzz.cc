// Goal: no file crashes the loader; a config that is accepted prints as a file of the same meaning.
// The first byte decides whether the rest is a file or the value of one option.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "deadman/base/check.h"
#include "deadman/base/utf8.h"
#include "deadman/config/config.h"
#include "deadman/config/option.h"
#include "deadman/config/render.h"

namespace {

using namespace deadman;

config::Sources empty_sources() {
    config::Sources sources;
    sources.environment["HOME"] = "/users/ada";
    return sources;
}

config::Sources sources_of(std::string text) {
    config::Sources sources = empty_sources();
    sources.file = config::FileText{.path = "deadman.toml", .text = std::move(text)};
    return sources;
}

void check(const config::Sources& sources) {
    const auto first = config::resolve(sources);
    if (!first) {
        DEADMAN_CHECK(first.error().code == base::ErrorCode::invalid_argument);
        return;
    }
    // A masked password is not the password, so the store's line is left out of the comparison.
    const auto again = config::resolve(sources_of(config::render_origin(*first)));
    DEADMAN_CHECK(again.has_value());
    DEADMAN_CHECK(again->shown.size() == first->shown.size());
    for (std::size_t i = 0; i < first->shown.size(); ++i)
        DEADMAN_CHECK(first->shown[i].name == "store" ||
                      again->shown[i].text == first->shown[i].text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto options = config::options();
    if (data[0] >= 0x80) {
        config::Sources sources = empty_sources();
        sources.flags[std::string(options[data[0] % options.size()].flag)] = text;
        check(sources);
        (void)config::without_password(text);
    } else {
        check(sources_of(std::string(text)));
    }
    return 0;
}
