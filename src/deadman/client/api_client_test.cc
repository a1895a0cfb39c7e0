// Goal: a server that is not there is told apart from one that refuses. Method: URLs where nobody
// is. (What a real server answers is tested end to end.)

#include "deadman/client/api_client.h"

#include <gtest/gtest.h>

namespace deadman::client {
namespace {

TEST(ApiClient, WantsAUrl) {
    for (const char* url : {"", "127.0.0.1:7350", "ftp://127.0.0.1", "file:///etc/passwd"}) {
        const auto client = ApiClient::create({.url = url});
        ASSERT_FALSE(client) << url;
        EXPECT_EQ(client.error().code, base::ErrorCode::invalid_argument);
    }
}

TEST(ApiClient, NobodyThereIsUnavailableAndUnreachable) {
    // Port 1 of loopback: reserved, and nothing of ours.
    const auto client = *ApiClient::create({.url = "http://127.0.0.1:1/"});
    const auto version = client->version();
    ASSERT_FALSE(version);
    EXPECT_EQ(version.error().code, base::ErrorCode::unavailable);
    EXPECT_TRUE(client->last_failure().unreachable);
    const domain::JobSpec spec{.kind = "k"};
    const auto enqueued = client->enqueue(std::span(&spec, 1));
    ASSERT_FALSE(enqueued);
    EXPECT_EQ(enqueued.error().code, base::ErrorCode::unavailable); // it cannot have happened
}

} // namespace
} // namespace deadman::client
