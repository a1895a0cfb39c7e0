// The contract suite on the in-memory store, and the random comparison of it with itself: that one
// shows that a sequence is the same each time it is played.

#include "tests/contract/job_store_contract.h"
#include "tests/contract/memory_fixture.h"
#include "tests/contract/random_operations.h"

namespace deadman::contract {
namespace {

INSTANTIATE_TEST_SUITE_P(Memory, JobStoreContract,
                         testing::Values(StoreParam{"memory", make_memory_fixture}),
                         store_param_name);

INSTANTIATE_TEST_SUITE_P(Memory, RandomOperations,
                         testing::Values(RandomOperationsParam{.name = "memory",
                                                               .make = make_memory_fixture}),
                         random_operations_param_name);

} // namespace
} // namespace deadman::contract
