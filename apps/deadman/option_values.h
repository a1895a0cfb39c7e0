#pragma once
// Values of options that CLI11 does not know: durations, and errors for people.

#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "deadman/base/duration_text.h"
#include "deadman/base/error.h"

namespace deadman {

/// An option that takes "2s", "1500ms", "10m"; `value` keeps its default without it.
inline CLI::Option* add_duration(CLI::App& app, const std::string& name, base::Duration& value,
                                 const std::string& description) {
    return app
        .add_option_function<std::string>(
            name,
            [&value, name](const std::string& text) {
                const auto parsed = base::parse_duration(text);
                if (!parsed)
                    throw CLI::ValidationError(name, parsed.error().message);
                value = *parsed;
            },
            description)
        ->type_name("DURATION")
        ->default_str(base::format_duration(value));
}

inline void print_error(const base::Error& error) {
    std::fprintf(stderr, "deadman: %s\n", error.message.c_str());
}

} // namespace deadman
