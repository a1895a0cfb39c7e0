#pragma once

// Sockets that belong to somebody else's library.
//
// Thread-safety: safe for concurrent use with whatever the owner does on the socket, but for
// closing it.

namespace deadman::platform {

/// Ends the connection in both directions and leaves the descriptor open: whoever waits on it
/// learns of the end at once.
void shutdown_socket(int descriptor);

} // namespace deadman::platform
