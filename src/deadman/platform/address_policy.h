#pragma once
// Which network addresses are the public internet's. Pure; knows the system's socket addresses.
//
// Source: the IANA special-purpose address registries for IPv4 and IPv6.

#include <cstddef>

namespace deadman::platform {

/// `address` is a sockaddr of `bytes` bytes. False for anything that is not plainly public:
/// loopback, private, link-local (cloud metadata), shared, multicast, reserved, unspecified, IPv4
/// inside IPv6 by the IPv4 rule, and every family but IPv4 and IPv6.
bool is_public_address(const void* address, std::size_t bytes);

} // namespace deadman::platform
