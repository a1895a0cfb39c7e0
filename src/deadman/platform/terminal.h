#pragma once

// What is at the other end of standard output and error.

namespace deadman::platform {

bool stdout_is_terminal();
bool stderr_is_terminal();

} // namespace deadman::platform
