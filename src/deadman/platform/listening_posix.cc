#include "deadman/platform/listening.h"

#include <cerrno>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "deadman/platform/internal/descriptor.h"
#include "deadman/platform/internal/system_error.h"

namespace deadman::platform {
namespace {

using base::ErrorCode;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

base::Result<Addresses> look_up(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0)
        return base::fail(ErrorCode::invalid_argument,
                          "'" + host + "' is no address: " + gai_strerror(error));
    return Addresses(found, &freeaddrinfo);
}

base::Error cannot_listen(const std::string& place, int error) {
    if (error == EADDRINUSE)
        return base::fail(ErrorCode::already_exists,
                          place + " is taken: another process listens there");
    if (error == EADDRNOTAVAIL)
        return base::fail(ErrorCode::invalid_argument, place + " is no address of this machine");
    if (error == EACCES)
        return base::fail(ErrorCode::invalid_argument, "this user may not listen on " + place);
    return internal::system_error("cannot listen on " + place, error);
}

ListenAddress described(const sockaddr_storage& bound) {
    ListenAddress result;
    char text[INET6_ADDRSTRLEN]{};
    if (bound.ss_family == AF_INET6) {
        const auto& address = reinterpret_cast<const sockaddr_in6&>(bound);
        inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof text);
        result.port = ntohs(address.sin6_port);
        result.is_loopback = IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
        result.is_any = IN6_IS_ADDR_UNSPECIFIED(&address.sin6_addr);
    } else {
        const auto& address = reinterpret_cast<const sockaddr_in&>(bound);
        inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
        result.port = ntohs(address.sin_port);
        result.is_loopback = ntohl(address.sin_addr.s_addr) >> 24U == 127;
        result.is_any = address.sin_addr.s_addr == htonl(INADDR_ANY);
    }
    result.address = text;
    return result;
}

} // namespace

base::Result<ListenAddress> probe_listening(const std::string& host, std::uint16_t port) {
    DEADMAN_TRY(const auto addresses, look_up(host, port));
    const std::string place = host + ":" + std::to_string(port);
    const internal::OwnedDescriptor socket(
        ::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.is_open())
        return cannot_listen(place, errno);
    // As servers do, so that connections that have just ended do not count; without SO_REUSEPORT,
    // so that a second server does.
    const int yes = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 ||
        listen(socket.get(), 1) != 0)
        return cannot_listen(place, errno);
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0)
        return cannot_listen(place, errno);
    return described(bound);
}

} // namespace deadman::platform
