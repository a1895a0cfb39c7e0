#pragma once
// Child processes: spawn, signal, wait. The only code that knows POSIX processes.
//
// Thread-safety: each ChildProcess under external synchronization; spawn is safe from any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deadman/base/result.h"
#include "deadman/base/time.h"

namespace deadman::platform {

enum class StreamTo {
    inherit,
    null,
    pipe,  // readable (stdout, stderr) or writable (stdin) through the ChildProcess
};

struct SpawnOptions {
    std::vector<std::string> argv;         // argv[0] is looked up in PATH when it has no slash
    std::vector<std::string> environment;  // "NAME=value", whole; empty: this process's own
    std::string working_directory;         // empty: this process's own
    StreamTo stdin_to = StreamTo::null;
    StreamTo stdout_to = StreamTo::inherit;
    StreamTo stderr_to = StreamTo::inherit;
    bool own_group = true;        // a process group of its own, so that signals reach its children too
    bool die_with_parent = true;  // a guardian kills the group when this process dies, however it dies
};

struct ExitStatus {
    std::optional<int> code;    // it exited
    std::optional<int> signal;  // it was killed
};

class ChildProcess {
  public:
    static base::Result<ChildProcess> spawn(const SpawnOptions& options);

    ChildProcess(ChildProcess&& other) noexcept;
    ChildProcess& operator=(ChildProcess&& other) noexcept;
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    /// Kills the group if it still runs, and reaps the child.
    ~ChildProcess();

    int pid() const;

    /// Descriptors of the pipes asked for, -1 otherwise; close_stdin ends the child's input.
    int stdin_descriptor() const;
    int stdout_descriptor() const;
    int stderr_descriptor() const;
    void close_stdin();

    void signal_process(int signal_number);
    void signal_group(int signal_number);

    /// The status once it has ended; nothing while it runs.
    std::optional<ExitStatus> poll();

    /// Waits at most `patience`.
    std::optional<ExitStatus> wait(base::Duration patience);

  private:
    struct State;
    explicit ChildProcess(State* state);

    State* state_ = nullptr;
};

/// The path of this very executable.
base::Result<std::string> executable_path();

int current_pid();
std::string host_name();

} // namespace deadman::platform
