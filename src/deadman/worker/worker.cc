#include "deadman/worker/worker.h"

#include <cstdlib>
#include <utility>

#include "deadman/worker/internal/worker_shell.h"

namespace deadman::worker {
namespace {

constexpr int exit_software = 70; // EX_SOFTWARE of sysexits

WorkerSurroundings with_defaults(WorkerSurroundings surroundings) {
    if (!surroundings.leave_process)
        surroundings.leave_process = [](std::string_view) { std::_Exit(exit_software); };
    return surroundings;
}

} // namespace

Worker::Worker(WorkerOptions options, HandlerRegistry handlers, WorkerSurroundings surroundings)
    : shell_(std::make_unique<internal::WorkerShell>(std::move(options), std::move(handlers),
                                                     with_defaults(std::move(surroundings)))) {}

Worker::~Worker() = default;

void Worker::run(std::stop_token stop) {
    shell_->run(std::move(stop));
}

void Worker::drain() {
    shell_->drain();
}

void Worker::force() {
    shell_->force();
}

} // namespace deadman::worker
