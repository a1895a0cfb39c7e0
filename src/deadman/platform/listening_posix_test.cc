// Goal: the usual mistakes of an address are told before a server tries it. Method: real sockets.

#include "deadman/platform/listening.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace deadman::platform {
namespace {

TEST(Listening, FindsAFreePort) {
    const auto free = probe_listening("127.0.0.1", 0);
    ASSERT_TRUE(free);
    EXPECT_EQ(free->address, "127.0.0.1");
    EXPECT_GT(free->port, 0);
    EXPECT_TRUE(free->is_loopback);
    EXPECT_FALSE(free->is_any);
    EXPECT_TRUE(probe_listening("127.0.0.1", free->port));
}

TEST(Listening, TellsWhatIsOffLoopback) {
    const auto everywhere = probe_listening("0.0.0.0", 0);
    ASSERT_TRUE(everywhere);
    EXPECT_TRUE(everywhere->is_any);
    EXPECT_FALSE(everywhere->is_loopback);
}

TEST(Listening, TakesNames) {
    const auto named = probe_listening("localhost", 0);
    ASSERT_TRUE(named);
    EXPECT_TRUE(named->is_loopback);
}

TEST(Listening, RefusesWhatIsNoAddressOfOurs) {
    EXPECT_EQ(probe_listening("192.0.2.1", 0).error().code, base::ErrorCode::invalid_argument);
    EXPECT_EQ(probe_listening("no such name", 0).error().code, base::ErrorCode::invalid_argument);
}

TEST(Listening, SeesAPortThatIsTakenAlsoByOneThatWouldShareIt) {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    const int yes = 1;
    ASSERT_EQ(setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), length), 0);
    ASSERT_EQ(listen(descriptor, 1), 0);
    ASSERT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), 0);

    const auto taken = probe_listening("127.0.0.1", ntohs(address.sin_port));
    ::close(descriptor);
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().code, base::ErrorCode::already_exists);
    EXPECT_NE(taken.error().message.find("is taken"), std::string::npos);
}

} // namespace
} // namespace deadman::platform
