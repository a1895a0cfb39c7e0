#include "deadman/worker/internal/worker_shell.h"

#include <utility>

#include "deadman/worker/internal/report_log.h"

namespace deadman::worker::internal {
namespace {

using namespace std::chrono_literals;

// A run that the store let down goes back, and would be claimed again at once.
constexpr base::Duration pause_after_store_trouble = 1s;

WorkerOptions with_kinds(WorkerOptions options, const HandlerRegistry& handlers) {
    options.kinds = handlers.kinds();
    options.solo_kinds = handlers.kinds(Ending::in_transaction);
    return resolved(std::move(options));
}

} // namespace

WorkerShell::WorkerShell(WorkerOptions options, HandlerRegistry handlers,
                         WorkerSurroundings surroundings)
    : options_(with_kinds(std::move(options), handlers)), handlers_(std::move(handlers)),
      surroundings_(std::move(surroundings)), store_(surroundings_.store),
      clock_(surroundings_.clock), core_(options_) {}

WorkerShell::~WorkerShell() = default;

void WorkerShell::run(std::stop_token stop) {
    start_threads();
    const std::stop_callback on_stop(std::move(stop), [this] { drain(); });
    feed([](WorkerCore& core, base::SteadyTime now) { return core.start(now); });
    control();
    end_threads();
}

void WorkerShell::drain() {
    feed([](WorkerCore& core, base::SteadyTime now) { return core.drain(now); });
}

void WorkerShell::force() {
    feed([this](WorkerCore& core, base::SteadyTime now) {
        forced_ = true;
        return core.force_drain(now);
    });
}

template <typename Event> void WorkerShell::feed(Event event) {
    std::string leave_why;
    bool wake_control = false;
    {
        const std::lock_guard lock(mutex_);
        Actions actions = event(core_, clock_.steady_now());
        for (Action& action : actions)
            dispatch(std::move(action));
        wake_control = finished_ || core_.next_wake() < control_sleeps_until_;
        poked_ = poked_ || wake_control;
        leave_why = std::exchange(leave_why_, {});
    }
    if (wake_control)
        changed_.notify_all();
    if (!leave_why.empty())
        leave(leave_why);
}

// Not by way of the courier: the default ends the process at once.
void WorkerShell::leave(const std::string& why) {
    if (surroundings_.log)
        surroundings_.log->error("worker_leaves_process", {{"reason", why}});
    surroundings_.leave_process(why);
}

// Under the mutex, so that actions leave in the order in which the core decided them.
void WorkerShell::dispatch(Action action) {
    std::visit(
        [this](auto& item) {
            using Item = std::decay_t<decltype(item)>;
            if constexpr (std::is_constructible_v<SessionCall, Item>) {
                session_calls_.push(std::move(item));
            } else if constexpr (std::is_constructible_v<ClaimCall, Item>) {
                claim_calls_.push(std::move(item));
                if (waiting_for_work_)
                    store_.interrupt();
            } else if constexpr (std::is_same_v<Item, Complete>) {
                complete_calls_.push(std::move(item));
            } else if constexpr (std::is_same_v<Item, StartRun>) {
                start(std::move(item));
            } else if constexpr (std::is_same_v<Item, StopRun>) {
                stop(item);
            } else if constexpr (std::is_same_v<Item, LeaveProcess>) {
                leave_why_ = std::move(item.why);
            } else if constexpr (std::is_same_v<Item, Finished>) {
                finished_ = true;
                handlers_left_ = item.handlers_left;
            } else if constexpr (std::is_same_v<Item, Report>) {
                parcels_.push(std::move(item));
            }
            // AbandonRun: the handler has been told to stop; there is nothing more to tell it.
        },
        action);
}

void WorkerShell::start(StartRun start) {
    const store::RunKey key = start.claimed.run;
    auto run = std::make_shared<LiveRun>(
        std::move(start), store_, [this](const store::RunKey& of, int percent, std::string note) {
            feed([&](WorkerCore& core, base::SteadyTime now) {
                return core.progress(now, of, percent, std::move(note));
            });
        });
    live_.insert_or_assign(key, run);
    starts_.push(std::move(run));
}

void WorkerShell::stop(const StopRun& stop) {
    if (const auto found = live_.find(stop.run); found != live_.end())
        parcels_.push(StopOrder{found->second, stop.why});
}

void WorkerShell::control() {
    std::unique_lock lock(mutex_);
    while (!finished_) {
        control_sleeps_until_ = core_.next_wake();
        clock_.wait_until(lock, changed_, control_sleeps_until_, [this] { return poked_; });
        poked_ = false;
        control_sleeps_until_ = {};
        lock.unlock();
        feed([](WorkerCore& core, base::SteadyTime now) { return core.tick(now); });
        lock.lock();
    }
}

void WorkerShell::start_threads() {
    const auto spawn = [this](void (WorkerShell::*loop)()) {
        threads_.emplace_back([this, loop] {
            (this->*loop)();
            const std::lock_guard lock(mutex_);
            --threads_alive_;
            changed_.notify_all();
        });
    };
    const std::lock_guard lock(mutex_);
    threads_alive_ = options_.slots + 4;
    spawn(&WorkerShell::session_loop);
    spawn(&WorkerShell::claim_loop);
    spawn(&WorkerShell::complete_loop);
    spawn(&WorkerShell::courier_loop);
    for (int slot = 0; slot < options_.slots; ++slot)
        spawn(&WorkerShell::slot_loop);
}

void WorkerShell::end_threads() {
    session_calls_.close();
    claim_calls_.close();
    complete_calls_.close();
    starts_.close();
    parcels_.close();
    await_threads();
    for (std::thread& thread : threads_)
        thread.join();
    threads_.clear();
}

// A handler that never returned, or a call that outlasts a forced drain, cannot be waited for.
void WorkerShell::await_threads() {
    std::unique_lock lock(mutex_);
    const base::SteadyTime patience_over = clock_.steady_now() + options_.force_bound / 4;
    while (threads_alive_ > 0) {
        // An interrupt that came just before the wait for work began was missed: repeat it.
        store_.interrupt();
        changed_.wait_for(lock, 10ms, [this] { return threads_alive_ == 0; });
        const bool hopeless = handlers_left_ > 0 || forced_;
        if (threads_alive_ == 0 || !hopeless || clock_.steady_now() < patience_over)
            continue;
        lock.unlock();
        leave(handlers_left_ > 0 ? "a handler does not stop"
                                 : "a call to the store does not return");
        lock.lock();
        handlers_left_ = 0;
        forced_ = false;
    }
}

void WorkerShell::session_loop() {
    while (const auto call = session_calls_.pop())
        std::visit([this](const auto& item) { make(item); }, *call);
}

void WorkerShell::claim_loop() {
    while (const auto call = claim_calls_.pop())
        std::visit([this](const auto& item) { make(item); }, *call);
}

void WorkerShell::complete_loop() {
    while (const auto call = complete_calls_.pop()) {
        auto result = store_.complete(call->session, call->ends);
        feed([&](WorkerCore& core, base::SteadyTime now) {
            return core.completed(now, call->batch_no, std::move(result));
        });
    }
}

void WorkerShell::courier_loop() {
    while (const auto parcel = parcels_.pop())
        std::visit([this](const auto& item) { deliver(item); }, *parcel);
}

void WorkerShell::slot_loop() {
    while (const auto run = starts_.pop()) {
        domain::Answer answer = run_handler(**run);
        const store::RunKey key = (*run)->claimed().run;
        feed([&](WorkerCore& core, base::SteadyTime now) {
            live_.erase(key);
            return core.run_finished(now, key, std::move(answer), (*run)->transaction_outcome());
        });
    }
}

domain::Answer WorkerShell::run_handler(LiveRun& run) {
    domain::Answer answer;
    if (run.stopped())
        return answer; // stopped before it began: the core knows what becomes of it
    WorkerObserver* observer = surroundings_.observer;
    if (observer)
        observer->on_start(run.claimed());
    if (const Handler* handler = handlers_.find(run.claimed().kind)) {
        answer = run.call(*handler);
        if (!run.store_trouble().empty())
            sit_out_store_trouble(run);
    } else {
        answer.kind = domain::AnswerKind::error;
        answer.reason = domain::reason_unknown_kind;
    }
    if (observer)
        observer->before_answer(run.claimed(), answer);
    return answer;
}

void WorkerShell::sit_out_store_trouble(const LiveRun& run) {
    parcels_.push(Report{.kind = ReportKind::call_failed,
                         .run = run.claimed().run,
                         .detail = "transaction: " + run.store_trouble()});
    std::mutex mutex;
    std::condition_variable stopped;
    const std::stop_callback wake(run.stop_token(), [&] {
        const std::lock_guard lock(mutex);
        stopped.notify_all();
    });
    std::unique_lock lock(mutex);
    clock_.wait_until(lock, stopped, clock_.steady_now() + pause_after_store_trouble,
                      [&] { return run.stopped(); });
}

void WorkerShell::make(const Register& call) {
    const base::SteadyTime sent_at = clock_.steady_now();
    auto result = store_.register_session(call.spec);
    feed([&](WorkerCore& core, base::SteadyTime now) {
        return core.registered(now, sent_at, std::move(result));
    });
}

void WorkerShell::make(const Renew& call) {
    const base::SteadyTime sent_at = clock_.steady_now();
    auto result = store_.renew(call.session, call.request);
    feed([&](WorkerCore& core, base::SteadyTime now) {
        return core.renewed(now, call.renew_no, sent_at, std::move(result));
    });
}

void WorkerShell::make(const EndSession& call) {
    const auto result = store_.end_session(call.session, call.reason);
    feed([&](WorkerCore& core, base::SteadyTime now) { return core.session_ended(now, result); });
}

void WorkerShell::make(const Claim& call) {
    auto result = store_.claim(call.session, call.request);
    feed([&](WorkerCore& core, base::SteadyTime now) {
        return core.claim_answered(now, call.request.claim_no, std::move(result));
    });
}

void WorkerShell::make(const ReadBackClaim& call) {
    auto result = store_.claim_result(call.session, call.claim_no);
    feed([&](WorkerCore& core, base::SteadyTime now) {
        return core.claim_read_back(now, call.claim_no, std::move(result));
    });
}

void WorkerShell::make(const Idle& call) {
    bool wait = false;
    {
        const std::lock_guard lock(mutex_);
        wait = waiting_for_work_ = !finished_;
    }
    if (wait)
        store_.wait_for_work(call.queues, call.patience);
    feed([this](WorkerCore& core, base::SteadyTime now) {
        waiting_for_work_ = false;
        return core.woken(now);
    });
}

void WorkerShell::deliver(const StopOrder& order) {
    order.run->stop(order.why);
}

void WorkerShell::deliver(const Report& report) {
    if (surroundings_.log)
        log_report(*surroundings_.log, report);
    WorkerObserver* observer = surroundings_.observer;
    if (!observer)
        return;
    if (report.kind == ReportKind::run_ended)
        observer->on_finish(report);
    if (report.kind == ReportKind::lease_lost)
        observer->on_lease_lost(report);
    observer->on_report(report);
}

} // namespace deadman::worker::internal
