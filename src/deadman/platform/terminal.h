#pragma once

// Standard input, output and error: what is at their other end.

namespace deadman::platform {

/// First thing in main. A stream that was closed is opened so that using it fails: else the next
/// file or socket would take its number, and be written to as if it were the stream.
void open_closed_streams();

bool stdout_is_terminal();
bool stderr_is_terminal();

} // namespace deadman::platform
