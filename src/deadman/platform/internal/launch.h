#pragma once
// launch: starts one program in a new process, without copying this one.
//
// Thread-safety: safe from any thread.
// Source:        vfork as glibc's posix_spawn uses it. posix_spawn itself has no room for the one
// step
//                that matters here: the child announces itself to the guardian before it execs, so
//                that there is no moment in which it runs and nobody would end it.

#include <sys/types.h>

#include <string>
#include <vector>

#include "deadman/base/result.h"

namespace deadman::platform::internal {

struct LaunchPlan {
    std::string program; // a path, not looked up
    std::vector<std::string> argv;
    std::vector<std::string> environment; // empty: this process's own
    std::string working_directory;        // empty: this process's own
    int streams[3] = {-1, -1, -1};        // what becomes 0, 1, 2; -1: keep this process's own
    bool own_group = false;
    bool own_session = false;
    int announce_to = -1; // a guardian's socket; -1: none
    pid_t dies_with = 0;  // this process, to be killed with the thread that launches; 0: not
};

struct Launched {
    pid_t pid = -1;
    bool guardian_lost = false; // nothing was started: the announcement could not be written
};

/// An error means that nothing runs.
base::Result<Launched> launch(const LaunchPlan& plan);

/// The guardian's word for a process ("123") or its whole group ("-123").
std::string guardian_target(pid_t pid, bool group);

} // namespace deadman::platform::internal
