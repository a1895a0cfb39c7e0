#include "deadman/platform/sockets.h"

#include <sys/socket.h>

namespace deadman::platform {

void shutdown_socket(int descriptor) {
    static_cast<void>(::shutdown(descriptor, SHUT_RDWR)); // it may have ended by itself
}

} // namespace deadman::platform
