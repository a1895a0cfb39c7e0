#pragma once
// The config as text: a sample file, a reference, and what a process has with whence it came.

#include <string>
#include <string_view>

#include "deadman/config/config.h"

namespace deadman::config {

/// A TOML file that says everything and sets nothing: each option stands in a comment with its
/// default.
std::string render_sample();

/// The same as a page for docs/, in Markdown.
std::string render_reference();

/// Each value as TOML with its origin in a comment behind it.
std::string render_origin(const Config& config);

/// A store URL fit for eyes and logs: the password of user:password@host or password=... is masked.
std::string without_password(std::string_view url);

} // namespace deadman::config
