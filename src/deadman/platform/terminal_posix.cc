#include "deadman/platform/terminal.h"

#include <unistd.h>

namespace deadman::platform {

bool stdout_is_terminal() {
    return ::isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
    return ::isatty(STDERR_FILENO) == 1;
}

} // namespace deadman::platform
