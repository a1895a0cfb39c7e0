#pragma once
// WorkerShell: the threads around a WorkerCore. Each kind of call has a thread, so that none waits
// for another: session (register, renew, end), claims (claim, read back, wait for work),
// completions; one per slot; and a courier for stop requests and reports, whose receivers are the
// user's code.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "deadman/worker/internal/live_run.h"
#include "deadman/worker/internal/mailbox.h"
#include "deadman/worker/worker.h"
#include "deadman/worker/worker_core.h"

namespace deadman::worker::internal {

class WorkerShell {
  public:
    WorkerShell(WorkerOptions options, HandlerRegistry handlers, WorkerSurroundings surroundings);
    ~WorkerShell();

    void run(std::stop_token stop);
    void drain();
    void force();

  private:
    using SessionCall = std::variant<Register, Renew, EndSession>;
    using ClaimCall = std::variant<Claim, ReadBackClaim, Idle>;
    using LiveRunPtr = std::shared_ptr<LiveRun>; // shared by its slot and by whoever stops it

    struct StopOrder {
        LiveRunPtr run;
        StopWhy why;
    };

    using Parcel = std::variant<StopOrder, Report>;

    // Feeds one event to the core and carries out what it asks for.
    template <typename Event> void feed(Event event);
    void dispatch(Action action);
    void start(StartRun start);
    void stop(const StopRun& stop);
    void leave(const std::string& why);

    void control();
    void start_threads();
    void end_threads();
    void await_threads();

    void session_loop();
    void claim_loop();
    void complete_loop();
    void slot_loop();
    void courier_loop();

    void make(const Register& call);
    void make(const Renew& call);
    void make(const EndSession& call);
    void make(const Claim& call);
    void make(const ReadBackClaim& call);
    void make(const Idle& call);
    void deliver(const StopOrder& order);
    void deliver(const Report& report);
    domain::Answer run_handler(LiveRun& run);
    void sit_out_store_trouble(const LiveRun& run);

    const WorkerOptions options_;
    const HandlerRegistry handlers_;
    WorkerSurroundings surroundings_;
    store::JobStore& store_;
    base::Clock& clock_;

    std::mutex mutex_; // guards what follows, up to the mailboxes
    std::condition_variable changed_;
    WorkerCore core_;
    std::map<store::RunKey, LiveRunPtr> live_;
    base::SteadyTime control_sleeps_until_{};
    std::string leave_why_;
    bool poked_ = false;
    bool finished_ = false;
    bool forced_ = false;
    bool waiting_for_work_ = false;
    int handlers_left_ = 0;
    int threads_alive_ = 0;

    Mailbox<SessionCall> session_calls_;
    Mailbox<ClaimCall> claim_calls_;
    Mailbox<Complete> complete_calls_;
    Mailbox<LiveRunPtr> starts_;
    Mailbox<Parcel> parcels_;
    std::vector<std::thread> threads_;
};

} // namespace deadman::worker::internal
