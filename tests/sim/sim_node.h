#pragma once
// SimNode: one worker machine: a WorkerCore, its handlers and its calls, in lives that end and
// begin.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deadman/worker/worker_core.h"
#include "tests/sim/sim_checker.h"
#include "tests/sim/sim_world.h"

namespace deadman::sim {

class SimNode {
  public:
    SimNode(SimWorld& world, int no);

    void boot();
    void die(const std::string& why, base::Duration replaced_after);
    void pause(base::Duration how_long);
    void drain();
    void force();

    bool alive() const {
        return core_ != nullptr;
    }

    NodeView view() const;

  private:
    using CoreEvent = std::function<worker::Actions(worker::WorkerCore&, base::SteadyTime)>;

    struct Handler {
        store::SessionKey session;
        store::Claimed claimed;
        bool told_to_stop = false;
        bool in_transaction = false; // its call is under way
        worker::TransactionOutcome outcome = worker::TransactionOutcome::none;
    };

    bool paused() const {
        return world_.now() < paused_until_;
    }

    void feed(CoreEvent event);
    void at(base::Duration delay, std::function<void()> what);
    void when_running(int life, std::function<void()> what);
    void resume(int life);
    void schedule_tick();
    void perform(worker::Actions actions);

    void perform_one(worker::Register& action);
    void perform_one(worker::Renew& action);
    void perform_one(worker::Claim& action);
    void perform_one(worker::ReadBackClaim& action);
    void perform_one(worker::Complete& action);
    void perform_one(worker::EndSession& action);
    void perform_one(worker::Idle& action);
    void perform_one(worker::StartRun& action);
    void perform_one(worker::StopRun& action);
    void perform_one(worker::AbandonRun& action);
    void perform_one(worker::LeaveProcess& action);
    void perform_one(worker::Finished& action);
    void perform_one(worker::Report& action);

    template <typename R>
    void call(const char* name, const std::function<R()>& execute,
              const std::function<void(const R&)>& answered);

    void begin(const store::RunKey& run);
    void transact(const store::RunKey& run);
    void finish(const store::RunKey& run, domain::Answer answer);
    domain::Answer draw_answer(const store::Claimed& claimed);
    void answer_renewal(std::int64_t renew_no, base::SteadyTime sent_at,
                        const base::Result<store::Renewal>& answer);
    void trace(const std::string& line);

    SimWorld& world_;
    const int no_;
    int life_ = 0;
    worker::WorkerOptions options_;
    std::unique_ptr<worker::WorkerCore> core_;
    std::map<store::RunKey, Handler> handlers_;
    base::SteadyTime paused_until_{};
    base::SteadyTime tick_at_ = base::SteadyTime::max();
    std::uint64_t tick_no_ = 0;
    std::vector<std::function<void()>> deferred_;
    store::Renewal last_renewal_;
};

} // namespace deadman::sim
