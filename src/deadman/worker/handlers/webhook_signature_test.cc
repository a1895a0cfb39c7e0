// Goal: what we sign is what a receiver by the convention verifies.

#include "deadman/worker/handlers/webhook_signature.h"

#include <gtest/gtest.h>

namespace deadman::worker {
namespace {

// The expected value was made with Python's hmac and base64 modules over the same bytes.
TEST(WebhookSignature, IsTheBase64OfTheHmacOverIdTimeAndBody) {
    const auto secret = parse_webhook_secret("whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWo=\n");
    ASSERT_TRUE(secret.has_value());
    EXPECT_EQ(*secret, "0123456789abcdefghij");
    EXPECT_EQ(sign_webhook(*secret, "deadman-job-7", 1'700'000'000, R"({"a":1})"),
              "v1,T4am1oh1OmHC8vXdpT0noUAaXt0piItv5O9As9t5jTI=");
}

TEST(WebhookSignature, RefusesSecretsThatAreShortLongOrNotBase64) {
    for (const char* text :
         {"", "whsec_", "whsec_AAAA", "whsec_????????????????????????", "not base64 at all"})
        EXPECT_FALSE(parse_webhook_secret(text).has_value()) << text;
    EXPECT_FALSE(parse_webhook_secret("whsec_" + std::string(400, 'A')).has_value());
}

} // namespace
} // namespace deadman::worker
