// Goal: the key is the one that Postgres computes, and another for every session, job and fence.

#include "deadman/worker/internal/run_key.h"

#include <gtest/gtest.h>

namespace deadman::worker::internal {
namespace {

std::string key(const char* session, std::int64_t job, std::int64_t fence) {
    return run_key({.id = {}, .key = session}, {domain::JobId{job}, domain::Fence{fence}});
}

// The expected value is from: printf 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11:7:42' | sha256sum
TEST(RunKey, IsTheHashThatTheServerComputes) {
    EXPECT_EQ(key("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 7, 42),
              "18d6399367fb5d892a7c568a3b34949e34f5b9dcb15ee9be73bb78783356b7b1");
}

TEST(RunKey, IsAnotherForEverySessionJobAndFence) {
    const std::string one = key("s", 1, 23);
    EXPECT_NE(one, key("t", 1, 23));
    EXPECT_NE(one, key("s", 2, 23));
    EXPECT_NE(one, key("s", 1, 24));
    EXPECT_NE(one, key("s", 12, 3)) << "the parts are kept apart";
}

} // namespace
} // namespace deadman::worker::internal
