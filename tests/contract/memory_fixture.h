#pragma once
// The in-memory store as a StoreFixture: under test itself, and the model in the random comparison.

#include <memory>

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {

std::unique_ptr<StoreFixture> make_memory_fixture();

} // namespace deadman::contract
