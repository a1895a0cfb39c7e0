#pragma once
// SimWorld: workers, upkeep and a store on one thread and a simulated clock. Everything that
// happens is an event with a time; faults are drawn from the seed.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "deadman/base/clock.h"
#include "deadman/base/random.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/store/memory/memory_job_store.h"
#include "deadman/worker/worker_action.h"
#include "tests/sim/checked_store.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/mutant_store.h"
#include "tests/sim/sim_checker.h"
#include "tests/sim/sim_plan.h"

namespace deadman::sim {

class SimNode;

/// What becomes of one call to the store.
struct Fate {
    enum class Kind {
        normal,
        fails_before,   // unavailable, and nothing happened
        unknown_before, // outcome unknown, and nothing happened
        unknown_after,  // outcome unknown, and it happened
        unknown_late,   // outcome unknown, and it happens later
    };

    Kind kind = Kind::normal;
    base::Duration there{};
    base::Duration back{};
    base::Duration late{};
};

struct SimResult {
    int steps = 0;
    int fault_steps = 0;
    std::string violation; // empty: all invariants held
    int starts = 0;
    int deaths = 0;
    int lapses = 0; // sessions that the reaper ended
    int quarantined = 0;
    std::map<worker::ReportKind, int> reports;
};

class SimWorld {
  public:
    explicit SimWorld(const SimPlan& plan);
    ~SimWorld();

    SimResult run();

    // For the nodes.
    base::Random& random() {
        return random_;
    }

    EventQueue& queue() {
        return queue_;
    }

    base::SteadyTime now() const {
        return clock_.steady_now();
    }

    store::JobStore& store() {
        return checked_;
    }

    const SimPlan& plan() const {
        return plan_;
    }

    SimChecker& checker() {
        return checker_;
    }

    bool calm() const {
        return calm_;
    }

    Fate draw_fate();
    base::Duration between(base::Duration least, base::Duration most);
    void trace(const std::string& line);
    void run_started(const store::RunKey& run);
    void reported(worker::ReportKind kind);
    void node_died(int no, base::Duration replaced_after);

  private:
    class Gate; // what upkeep sees of the store: nothing during an outage

    struct Contender {
        std::unique_ptr<scheduler::Upkeep> upkeep;
        base::SteadyTime stalled_until{};
    };

    bool outage() const;
    void enqueue_jobs();
    domain::JobSpec draw_job();
    void boot_upkeep(std::size_t no);
    void upkeep_step(std::size_t no);
    void fault();
    void fault_on_a_node();
    void fault_on_upkeep();
    void step_clock(base::Duration by);
    void operator_acts();
    void become_calm();
    void check();

    const SimPlan plan_;
    base::Random random_;
    base::SimulatedClock clock_;
    EventQueue queue_;
    store::MemoryJobStore memory_;
    MutantStore mutant_;
    SimChecker checker_;
    CheckedStore checked_;
    std::unique_ptr<Gate> gate_;
    std::vector<Contender> contenders_;
    std::vector<std::unique_ptr<SimNode>> nodes_;
    std::vector<domain::JobId> jobs_;
    base::SteadyTime outage_until_{};
    base::Duration clock_off_{};
    base::Duration clock_most_off_{};
    base::SteadyTime next_clock_step_{};
    double fault_rate_ = 0;
    bool calm_ = false;
    SimResult result_;
};

SimResult simulate(const SimPlan& plan);

} // namespace deadman::sim
