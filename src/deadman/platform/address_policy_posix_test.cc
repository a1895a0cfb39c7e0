// Goal: every way to name a host that is not the public internet's is seen through.

#include "deadman/platform/address_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

#include <gtest/gtest.h>

namespace deadman::platform {
namespace {

bool is_public(const std::string& text) {
    sockaddr_in ipv4{};
    if (::inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
        ipv4.sin_family = AF_INET;
        return is_public_address(&ipv4, sizeof ipv4);
    }
    sockaddr_in6 ipv6{};
    EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &ipv6.sin6_addr), 1) << text;
    ipv6.sin6_family = AF_INET6;
    return is_public_address(&ipv6, sizeof ipv6);
}

TEST(IsPublicAddress, RefusesEverythingThatIsNotPlainlyPublic) {
    for (const char* text : {"0.0.0.0",
                             "10.1.2.3",
                             "100.64.0.1",
                             "127.0.0.1",
                             "127.255.255.254",
                             "169.254.169.254",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.168.1.1",
                             "198.18.0.1",
                             "224.0.0.1",
                             "240.0.0.1",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "::ffff:127.0.0.1",
                             "::ffff:10.0.0.1",
                             "::127.0.0.1",
                             "64:ff9b::7f00:1",
                             "2002:7f00:1::",
                             "fe80::1",
                             "fc00::1",
                             "fd12::1",
                             "ff02::1",
                             "2001:db8::1",
                             "2001::1"})
        EXPECT_FALSE(is_public(text)) << text;
}

TEST(IsPublicAddress, AcceptsPublicOnes) {
    for (const char* text : {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1",
                             "172.32.0.1", "192.169.0.1", "198.20.0.1", "223.255.255.255",
                             "2606:4700::1", "2a00:1450::1", "::ffff:8.8.8.8"})
        EXPECT_TRUE(is_public(text)) << text;
}

TEST(IsPublicAddress, RefusesOtherFamiliesAndShortAddresses) {
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    EXPECT_FALSE(is_public_address(&local, sizeof local));
    sockaddr_in cut{};
    cut.sin_family = AF_INET;
    EXPECT_FALSE(is_public_address(&cut, 3));
}

} // namespace
} // namespace deadman::platform
