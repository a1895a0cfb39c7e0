#include "deadman/platform/terminal.h"

#include <fcntl.h>
#include <unistd.h>

namespace deadman::platform {

void open_closed_streams() {
    // In order: open() takes the lowest number that is free.
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
        if (::fcntl(stream, F_GETFD) < 0) [[maybe_unused]]
            const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

bool stdout_is_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
    return ::isatty(STDERR_FILENO) == 1;
}

} // namespace deadman::platform
