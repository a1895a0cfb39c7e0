#include "tests/sim/sim_world.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tests/sim/sim_node.h"

namespace deadman::sim {

class SimWorld::Gate final : public ForwardingStore {
  public:
    Gate(store::JobStore& inner, const SimWorld& world) : ForwardingStore(inner), world_(world) {}

    base::Result<std::unique_ptr<store::Leadership>> try_lead() override {
        if (world_.outage())
            return base::fail(base::ErrorCode::unavailable, "the store is away");
        DEADMAN_TRY(auto inner, inner_.try_lead());
        std::unique_ptr<store::Leadership> leader;
        if (inner)
            leader = std::make_unique<Leader>(std::move(inner), world_);
        return leader;
    }

  private:
    class Leader final : public store::Leadership {
      public:
        Leader(std::unique_ptr<store::Leadership> inner, const SimWorld& world)
            : inner_(std::move(inner)), world_(world) {}

        base::Result<store::UpkeepReport> sweep(const store::UpkeepRequest& request) override {
            if (world_.outage())
                return base::fail(base::ErrorCode::unavailable, "the store is away");
            return inner_->sweep(request);
        }

      private:
        std::unique_ptr<store::Leadership> inner_;
        const SimWorld& world_;
    };

    const SimWorld& world_;
};

SimWorld::SimWorld(const SimPlan& plan)
    : plan_(plan), random_(plan.seed * 0x9e3779b97f4a7c15ULL + 1), queue_(clock_),
      memory_(clock_, {.seed = plan.seed, .blocking = false}), mutant_(memory_, plan.mutation),
      checker_(memory_, mutant_, domain::default_max_crashes),
      checked_(mutant_, memory_, [this](std::string what) { checker_.complain(std::move(what)); }),
      gate_(std::make_unique<Gate>(checked_, *this)) {
    fault_rate_ = random_.unit() * 0.25;
    enqueue_jobs();
    for (int no = 0; no < plan_.workers; ++no)
        nodes_.push_back(std::make_unique<SimNode>(*this, no));
    for (auto& node : nodes_)
        queue_.after(between(1ms, 2s), [&node] { node->boot(); });
    contenders_.resize(static_cast<std::size_t>(plan_.contenders));
    for (std::size_t no = 0; no < contenders_.size(); ++no) {
        boot_upkeep(no);
        queue_.after(between(1ms, 1s), [this, no] { upkeep_step(no); });
    }
    queue_.after(1s, [this] { fault(); });
}

SimWorld::~SimWorld() {
    contenders_.clear(); // gives up leadership while the store is there
}

SimResult SimWorld::run() {
    base::SteadyTime calm_since{};
    while (checker_.violation().empty() && result_.steps < plan_.most_steps) {
        queue_.step();
        ++result_.steps;
        check();
        if (!calm_ && result_.steps >= plan_.fault_steps) {
            result_.fault_steps = result_.steps;
            become_calm();
            calm_since = now();
        }
        if (calm_ && (checker_.all_terminal() || now() - calm_since > plan_.calm_bound))
            break;
    }
    checker_.check_end();
    result_.violation = checker_.violation();
    return result_;
}

void SimWorld::check() {
    if (checked_.take_changed())
        checker_.check_store();
    std::vector<NodeView> views;
    for (const auto& node : nodes_)
        views.push_back(node->view());
    checker_.check_nodes(views);
}

bool SimWorld::outage() const {
    return now() < outage_until_;
}

Fate SimWorld::draw_fate() {
    Fate fate;
    fate.there = between(200us, 5ms);
    fate.back = between(200us, 5ms);
    if (calm_)
        return fate;
    if (outage()) {
        fate.kind = random_.chance(0.8) ? Fate::Kind::fails_before : Fate::Kind::unknown_before;
        return fate;
    }
    if (random_.chance(fault_rate_ / 2))
        fate.there = between(5ms, 4s);
    if (random_.chance(fault_rate_ / 2))
        fate.back = between(5ms, 4s);
    if (random_.chance(fault_rate_)) {
        fate.kind = static_cast<Fate::Kind>(1 + random_.below(4));
        fate.late = between(1ms, 2s);
    }
    return fate;
}

base::Duration SimWorld::between(base::Duration least, base::Duration most) {
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(1, (most - least).count()));
    return least + base::Duration{static_cast<std::int64_t>(random_.below(span))};
}

void SimWorld::trace(const std::string& line) {
    if (plan_.trace)
        std::fprintf(stderr, "%6d %12.6f %s\n", result_.steps,
                     static_cast<double>(now().time_since_epoch().count()) / 1e6, line.c_str());
}

void SimWorld::run_started(const store::RunKey& run) {
    ++result_.starts;
    checker_.started(run);
}

void SimWorld::reported(worker::ReportKind kind) {
    ++result_.reports[kind];
}

void SimWorld::node_died(int no, base::Duration replaced_after) {
    ++result_.deaths;
    queue_.after(replaced_after, [this, no] {
        SimNode& node = *nodes_[static_cast<std::size_t>(no)];
        if (!node.alive())
            node.boot();
    });
}

domain::JobSpec SimWorld::draw_job() {
    static constexpr const char* kinds[] = {"plain",  "plain",   "plain",  "effect",
                                            "effect", "effect",  "snooze", "stubborn",
                                            "slow",   "unknown", "pill"};
    domain::JobSpec spec;
    spec.kind = kinds[random_.below(std::size(kinds))];
    spec.transactional = spec.kind == "effect";
    spec.max_attempts = 1 + static_cast<int>(random_.below(4));
    spec.priority = static_cast<int>(random_.below(3));
    spec.retry.base = 100ms;
    spec.retry.cap = 5s;
    spec.timeout = 20s;
    if (random_.chance(0.2))
        spec.delay = between(1ms, 5s);
    return spec;
}

void SimWorld::enqueue_jobs() {
    for (int i = 0; i < plan_.jobs; ++i) {
        const domain::JobSpec spec = draw_job();
        const auto made = checked_.enqueue({&spec, 1}).value();
        jobs_.push_back(made[0].id);
        checker_.accepted(made[0].id, spec);
    }
    checked_.mark_changed();
}

void SimWorld::boot_upkeep(std::size_t no) {
    scheduler::UpkeepSurroundings surroundings{.store = *gate_, .clock = clock_};
    surroundings.on_sweep = [this](const store::UpkeepReport& report) {
        result_.lapses += static_cast<int>(report.sessions_lapsed);
        result_.quarantined += static_cast<int>(report.quarantined);
        if (report.sessions_lapsed + report.runs_returned + report.quarantined > 0)
            trace("sweep: lapsed " + std::to_string(report.sessions_lapsed) + " returned " +
                  std::to_string(report.runs_returned) + " quarantined " +
                  std::to_string(report.quarantined));
    };
    contenders_[no].upkeep =
        std::make_unique<scheduler::Upkeep>(store::UpkeepRequest{}, std::move(surroundings));
}

void SimWorld::upkeep_step(std::size_t no) {
    Contender& contender = contenders_[no];
    if (now() >= contender.stalled_until) {
        contender.upkeep->step();
        checked_.mark_changed();
    }
    queue_.after(contender.upkeep->pause() + between(0us, 20ms), [this, no] { upkeep_step(no); });
}

void SimWorld::fault() {
    if (calm_)
        return;
    const double which = random_.unit();
    if (which < 0.55)
        fault_on_a_node();
    else if (which < 0.65)
        fault_on_upkeep();
    else if (which < 0.72)
        outage_until_ = now() + between(100ms, 15s);
    else if (which < 0.77)
        step_clock(random_.chance(0.5) ? between(10s, 1h) : -between(10s, 1h));
    else
        operator_acts();
    queue_.after(between(50ms, 2s), [this] { fault(); });
}

// Steps are further apart than the gap between ticks that counts as an outage: a step forth and
// back between two ticks is seen by nobody, and only the fences would hold then.
void SimWorld::step_clock(base::Duration by) {
    if (now() < next_clock_step_)
        return;
    next_clock_step_ = now() + 5s;
    trace("the clock steps by " + std::to_string(by.count() / 1'000'000) + " s");
    clock_.step_wall(by);
    clock_off_ += by;
    clock_most_off_ = std::max(clock_most_off_, clock_off_);
}

void SimWorld::fault_on_a_node() {
    SimNode& node = *nodes_[random_.below(nodes_.size())];
    const double which = random_.unit();
    if (which < 0.5)
        node.die("killed", between(10ms, 5s));
    else if (which < 0.8)
        node.pause(random_.chance(0.5) ? between(1ms, 2s) : between(2s, 20s));
    else if (which < 0.93)
        node.drain();
    else
        node.force();
}

void SimWorld::fault_on_upkeep() {
    const std::size_t no = random_.below(contenders_.size());
    if (random_.chance(0.5)) {
        trace("upkeep " + std::to_string(no) + " stalls");
        contenders_[no].stalled_until = now() + between(100ms, 10s);
    } else {
        trace("upkeep " + std::to_string(no) + " is replaced");
        boot_upkeep(no);
    }
}

void SimWorld::operator_acts() {
    const domain::JobId job = jobs_[random_.below(jobs_.size())];
    checked_.mark_changed();
    if (random_.chance(0.5)) {
        const store::CancelAnswer answer = checked_.cancel(job).value();
        trace("cancel job " + std::to_string(job.value));
        if (answer == store::CancelAnswer::cancelled || answer == store::CancelAnswer::requested)
            checker_.cancel_accepted(job);
    } else if (checked_.retry(job)) {
        trace("retry job " + std::to_string(job.value));
        checker_.retried(job);
    }
}

void SimWorld::become_calm() {
    trace("--- the faults stop ---");
    calm_ = true;
    queue_.after(5s, [this] {
        // What was put off while the clock was ahead is due by the clock, so it has to catch up.
        if (clock_off_ < clock_most_off_)
            step_clock(clock_most_off_ - clock_off_);
    });
    outage_until_ = {};
    for (Contender& contender : contenders_)
        contender.stalled_until = {};
}

SimResult simulate(const SimPlan& plan) {
    return SimWorld(plan).run();
}

} // namespace deadman::sim
