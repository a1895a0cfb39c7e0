#pragma once
// What a public Store stands for.

#include <memory>

#include "deadman/base/clock.h"
#include "deadman/deadman.h"
#include "deadman/store/job_store.h"

namespace deadman {

struct Store::State {
    base::SystemClock clock; // before the store, which reads it
    std::unique_ptr<store::JobStore> store;
};

} // namespace deadman
