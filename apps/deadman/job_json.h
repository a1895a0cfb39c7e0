#pragma once
// The records' JSON under the names that the verbs know it by.

#include "deadman/json/record_json.h"

namespace deadman::cli {

using json::enqueued_json;
using json::job_json;
using json::page_json;
using json::queue_json;
using json::worker_json;

} // namespace deadman::cli
