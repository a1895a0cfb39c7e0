#pragma once
// Whether a TCP port can be listened on: asked before a server's library does it, which would end
// the process where it cannot.
//
// Blocking:      names are looked up.

#include <cstdint>
#include <string>

#include "deadman/base/result.h"

namespace deadman::platform {

struct ListenAddress {
    std::string address; // an IP address
    std::uint16_t port = 0;
    bool is_loopback = false;
    bool is_any = false; // 0.0.0.0, ::
};

/// `host` is an address or a name of this machine; port 0 becomes a free one. Somebody else may
/// take the port before it is used: this tells the usual mistakes, and holds nothing.
///
/// Errors: already_exists: another process listens there. invalid_argument: no address of this
/// machine, or a port that this user may not use.
base::Result<ListenAddress> probe_listening(const std::string& host, std::uint16_t port);

} // namespace deadman::platform
