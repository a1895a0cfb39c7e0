#pragma once
// Values of options: from text or from the file, checked against the option, and back to TOML.

#include <string>
#include <string_view>
#include <variant>

#include "deadman/base/result.h"
#include "deadman/base/time.h"
#include "deadman/config/internal/raw_file.h"
#include "deadman/config/option.h"

namespace deadman::config {

using Value = std::variant<bool, std::int64_t, base::Duration, std::string, TextList, TextTable>;

/// From a flag, a variable or a default. The error lacks the place.
base::Result<Value> value_from_text(const Option& option, std::string_view text);

base::Result<Value> value_from_raw(const Option& option, const RawValue& raw);

std::string value_as_toml(const Option& option, const Value& value);

/// "text", with what TOML wants escaped.
std::string toml_quoted(std::string_view text);

} // namespace deadman::config
