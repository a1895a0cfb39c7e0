#pragma once
// The JSON writer under the name that the verbs know it by.

#include "deadman/json/json_text.h"

namespace deadman::cli {

using json::json_string;
using json::JsonArray;
using json::JsonObject;

} // namespace deadman::cli
