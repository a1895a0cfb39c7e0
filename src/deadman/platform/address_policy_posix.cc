#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "deadman/platform/address_policy.h"

namespace deadman::platform {
namespace {

struct Range4 {
    std::uint32_t base;
    int bits;
};

constexpr std::uint32_t ip4(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return a << 24 | b << 16 | c << 8;
}

constexpr Range4 not_public_4[] = {
    {ip4(0, 0, 0), 8},      {ip4(10, 0, 0), 8},     {ip4(100, 64, 0), 10}, {ip4(127, 0, 0), 8},
    {ip4(169, 254, 0), 16}, {ip4(172, 16, 0), 12},  {ip4(192, 0, 0), 24},  {ip4(192, 0, 2), 24},
    {ip4(192, 88, 99), 24}, {ip4(192, 168, 0), 16}, {ip4(198, 18, 0), 15}, {ip4(198, 51, 100), 24},
    {ip4(203, 0, 113), 24}, {ip4(224, 0, 0), 3}, // multicast, reserved, broadcast
};

bool is_public_4(std::uint32_t address) {
    return std::none_of(std::begin(not_public_4), std::end(not_public_4), [&](const Range4& range) {
        return (address ^ range.base) >> (32 - range.bits) == 0;
    });
}

std::uint32_t read_ip4(const std::uint8_t* bytes) {
    return static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
           static_cast<std::uint32_t>(bytes[2]) << 8 | static_cast<std::uint32_t>(bytes[3]);
}

bool starts_with(const std::uint8_t* address, std::initializer_list<std::uint8_t> prefix) {
    return std::equal(prefix.begin(), prefix.end(), address);
}

bool is_public_6(const std::uint8_t* address) {
    // Mapped, translated (64:ff9b::/96) and 6to4 addresses lead to an IPv4 host.
    if (starts_with(address, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}))
        return is_public_4(read_ip4(address + 12));
    if (starts_with(address, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}))
        return is_public_4(read_ip4(address + 12));
    if (starts_with(address, {0x20, 0x02}))
        return is_public_4(read_ip4(address + 2));
    const bool is_global_unicast = (address[0] & 0xe0) == 0x20; // 2000::/3, all that is handed out
    const bool is_documentation =
        starts_with(address, {0x20, 0x01, 0x0d, 0xb8}) || starts_with(address, {0x3f, 0xff});
    const bool is_protocol_use = address[0] == 0x20 && address[1] == 0x01 && address[2] < 0x02;
    return is_global_unicast && !is_documentation && !is_protocol_use;
}

} // namespace

bool is_public_address(const void* address, std::size_t bytes) {
    sockaddr_storage copy{};
    std::memcpy(&copy, address, std::min(bytes, sizeof copy));
    if (copy.ss_family == AF_INET && bytes >= sizeof(sockaddr_in)) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &copy, sizeof ipv4);
        return is_public_4(ntohl(ipv4.sin_addr.s_addr));
    }
    if (copy.ss_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
        sockaddr_in6 ipv6{};
        std::memcpy(&ipv6, &copy, sizeof ipv6);
        return is_public_6(ipv6.sin6_addr.s6_addr);
    }
    return false;
}

} // namespace deadman::platform
