#include <thread>

#include "deadman/embedded/internal/store_state.h"
#include "deadman/embedded/internal/translate.h"
#include "deadman/embedded/run.h"
#include "deadman/platform/process.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/worker/worker.h"

namespace deadman {

struct Worker::State {
    Store store;
    WorkerOptions options;
    worker::HandlerRegistry handlers;
    std::unique_ptr<scheduler::Upkeep> upkeep;
    std::unique_ptr<worker::Worker> worker;
    std::thread upkeep_thread;
    std::thread worker_thread;
};

namespace {

worker::WorkerOptions translate(const WorkerOptions& options) {
    worker::WorkerOptions translated;
    translated.name = options.name;
    translated.host = platform::host_name();
    translated.pid = platform::current_pid();
    translated.version = DEADMAN_VERSION;
    translated.queues = options.queues;
    translated.slots = options.slots;
    translated.drain_grace = options.drain_grace;
    return worker::resolved(std::move(translated));
}

} // namespace

Worker::Worker(Store store, WorkerOptions options)
    : state_(new State{.store = std::move(store), .options = std::move(options)}) {}

Worker::~Worker() {
    drain();
}

void Worker::handle(std::string kind, Handler handler) {
    if (state_->worker)
        throw Error(ErrorCode::conflict, "handle() after start()");
    state_->handlers.add(std::move(kind), embedded::adapt(std::move(handler)));
}

void Worker::start() {
    if (state_->worker)
        throw Error(ErrorCode::conflict, "start() twice");
    Store::State& shared = *state_->store.state_;
    const worker::WorkerOptions options = translate(state_->options);
    store::UpkeepRequest request;
    request.terms = options.terms;
    state_->upkeep = std::make_unique<scheduler::Upkeep>(
        request, scheduler::UpkeepSurroundings{.store = *shared.store, .clock = shared.clock});
    state_->worker = std::make_unique<worker::Worker>(
        options, std::move(state_->handlers),
        worker::WorkerSurroundings{.store = *shared.store, .clock = shared.clock});
    state_->upkeep_thread = std::thread([this] { state_->upkeep->run(); });
    state_->worker_thread = std::thread([this] { state_->worker->run(); });
}

void Worker::drain() {
    if (!state_->worker_thread.joinable())
        return;
    state_->worker->drain();
    state_->worker_thread.join();
    state_->upkeep->stop();
    state_->upkeep_thread.join();
}

} // namespace deadman
