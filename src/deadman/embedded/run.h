#pragma once
// A public Run over a worker's RunContext, and a public Handler as the worker's.

#include "deadman/deadman.h"
#include "deadman/worker/handler.h"

namespace deadman::embedded {

worker::Handler adapt(Handler handler);

} // namespace deadman::embedded
