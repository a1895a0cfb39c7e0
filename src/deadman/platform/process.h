#pragma once
// Child processes: spawn, signal, wait. The only code that knows POSIX processes.
//
// Contract:      a child inherits its three streams and nothing else: no other descriptor, no
// blocked
//                or ignored signal. With die_with_parent its group is killed when this process dies
//                by any cause, kill -9 included.
// Thread-safety: each ChildProcess under external synchronization; spawn is safe from any thread.
// Ownership:     an ended child is kept (a zombie) until its ChildProcess is destroyed, so that its
//                process id is nobody else's meanwhile.
// Errors:        not_found: no such program or directory. invalid_argument: it may not be run.
//                exhausted: no process or descriptor left.
// Source:        DECISIONS 026; internal/guardian.h.

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
    pipe, // readable (stdout, stderr) or writable (stdin) through the ChildProcess
};

struct SpawnOptions {
    std::vector<std::string> argv;        // argv[0] is looked up in PATH when it has no slash
    std::vector<std::string> environment; // "NAME=value", whole; empty: this process's own
    std::string working_directory;        // empty: this process's own
    StreamTo stdin_to = StreamTo::null;
    StreamTo stdout_to = StreamTo::inherit;
    StreamTo stderr_to = StreamTo::inherit;
    bool own_group = true; // a process group of its own, so that signals reach its children too
    bool die_with_parent =
        true; // a guardian kills the group when this process dies, however it dies
    // The kernel kills the program itself (its children not) when the thread that spawned it ends:
    // a second way, which a stopped guardian does not bar.
    bool die_with_thread = false;
};

struct ExitStatus {
    std::optional<int> code;   // it exited
    std::optional<int> signal; // it was killed
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

    /// All of the child's output, to its end. REQUIRES: stdout_to = pipe.
    base::Result<std::string> read_stdout();

    void signal_process(int signal_number);
    void signal_group(int signal_number);

    /// What <csignal> has no standard names for. A stopped process keeps its memory, locks and
    /// connections, and does nothing; killing ends it all the same.
    void kill_group();
    void stop_process();
    void resume_process();

    /// The status once it has ended; nothing while it runs.
    std::optional<ExitStatus> poll();

    /// Readable once the child has ended; -1 where the system has no such thing.
    int exit_descriptor() const;

    /// Waits at most `patience`.
    std::optional<ExitStatus> wait(base::Duration patience);

  private:
    struct State;
    explicit ChildProcess(State* state);

    State* state_ = nullptr;
};

/// As kill -9 from outside: no destructor, no handler, no flush.
[[noreturn]] void kill_this_process();

/// Stops every thread of this process until somebody resumes it.
void stop_this_process();

/// The path of this very executable.
base::Result<std::string> executable_path();

int current_pid();
std::string host_name();

/// May it do anything to the machine? Some servers refuse to run as such a user.
bool is_superuser();

} // namespace deadman::platform
