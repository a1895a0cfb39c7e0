#pragma once
// RandomOperations: seeded sequences of operations, applied to a store and to the in-memory one;
// every answer and the whole state must be the same.
//
// A store plugs in beside the contract suite:
//
//     INSTANTIATE_TEST_SUITE_P(X, RandomOperations,
//                              testing::Values(RandomOperationsParam{.name = "x", .make = make_x}),
//                              random_operations_param_name);
//
// A failure prints its seed; DEADMAN_SEED=n plays that one sequence alone.

#include <cstdint>
#include <string>

#include "tests/contract/job_store_contract.h"

namespace deadman::contract {

struct RandomOperationsParam {
    std::string name;
    FixtureFactory make;
    int sequences = 200;
    int steps = 60;
};

inline void PrintTo(const RandomOperationsParam& param, std::ostream* out) {
    *out << param.name;
}

inline std::string
random_operations_param_name(const testing::TestParamInfo<RandomOperationsParam>& info) {
    return info.param.name;
}

class RandomOperations : public testing::TestWithParam<RandomOperationsParam> {};

} // namespace deadman::contract
