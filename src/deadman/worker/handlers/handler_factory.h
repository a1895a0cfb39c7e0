#pragma once
// From the handlers that the configuration declares to a registry that a worker can use.
//
// Errors: invalid_argument, naming the handler: a statement or a secret that is no good.

#include <map>
#include <string>
#include <string_view>

#include "deadman/base/clock.h"
#include "deadman/base/result.h"
#include "deadman/config/config.h"
#include "deadman/worker/handler.h"

namespace deadman::worker {

/// `store_name` is JobStore::name(): it decides the dialect of declared SQL. Reads secret files.
/// `clock` must outlive the handlers.
base::Result<HandlerRegistry> make_handlers(const config::Config& config,
                                            std::string_view store_name, const base::Clock& clock);

} // namespace deadman::worker
