#include "tests/sim/sim_node.h"

#include <algorithm>
#include <utility>

namespace deadman::sim {

namespace {

std::string name_of(const store::RunKey& run) {
    return "job " + std::to_string(run.job.value) + " fence " + std::to_string(run.fence.value);
}

} // namespace

SimNode::SimNode(SimWorld& world, int no) : world_(world), no_(no) {
    options_.name = "w" + std::to_string(no);
    options_.slots = 1 + static_cast<int>(world.random().below(3));
    options_.prefetch = static_cast<int>(world.random().below(5));
    options_.kinds = {"plain", "pill", "slow", "snooze", "stubborn", "effect"};
    options_.suspect_every = 20s;
    options_.drain_grace = 10s;
}

void SimNode::trace(const std::string& line) {
    world_.trace("w" + std::to_string(no_) + "." + std::to_string(life_) + " " + line);
}

void SimNode::boot() {
    ++life_;
    options_.seed = world_.random().next() | 1U;
    core_ = std::make_unique<worker::WorkerCore>(worker::resolved(options_));
    tick_at_ = base::SteadyTime::max();
    paused_until_ = {};
    trace("boots");
    feed([](worker::WorkerCore& core, base::SteadyTime now) { return core.start(now); });
}

void SimNode::die(const std::string& why, base::Duration replaced_after) {
    if (!alive())
        return;
    trace("dies: " + why);
    core_.reset();
    handlers_.clear();
    deferred_.clear();
    ++life_;
    world_.node_died(no_, replaced_after);
}

void SimNode::pause(base::Duration how_long) {
    if (!alive() || paused())
        return;
    trace("is paused for " + std::to_string(how_long.count() / 1000) + " ms");
    paused_until_ = world_.now() + how_long;
    world_.queue().after(how_long, [this, life = life_] { resume(life); });
}

void SimNode::drain() {
    feed([](worker::WorkerCore& core, base::SteadyTime now) { return core.drain(now); });
}

void SimNode::force() {
    feed([](worker::WorkerCore& core, base::SteadyTime now) { return core.force_drain(now); });
}

// The control thread is the first to run; what else was due comes in any order.
void SimNode::resume(int life) {
    if (life != life_ || !alive())
        return;
    trace("goes on");
    std::vector<std::function<void()>> missed = std::exchange(deferred_, {});
    feed([](worker::WorkerCore& core, base::SteadyTime now) { return core.tick(now); });
    for (std::size_t left = missed.size(); left > 0; --left) {
        const std::size_t next = world_.random().below(left);
        std::swap(missed[next], missed[left - 1]);
        when_running(life, std::move(missed[left - 1]));
    }
}

void SimNode::when_running(int life, std::function<void()> what) {
    if (life != life_ || !alive())
        return;
    if (paused())
        deferred_.push_back(std::move(what));
    else
        what();
}

void SimNode::at(base::Duration delay, std::function<void()> what) {
    world_.queue().after(delay, [this, life = life_, what = std::move(what)]() mutable {
        when_running(life, std::move(what));
    });
}

void SimNode::feed(CoreEvent event) {
    when_running(life_, [this, event = std::move(event)] {
        perform(event(*core_, world_.now()));
        schedule_tick();
    });
}

void SimNode::schedule_tick() {
    if (!alive() || core_->next_wake() == base::SteadyTime::max())
        return;
    if (tick_at_ <= core_->next_wake() && tick_at_ > world_.now())
        return;
    tick_at_ = std::max(core_->next_wake(), world_.now() + 1ms);
    at(tick_at_ - world_.now(), [this, no = ++tick_no_] {
        if (no != tick_no_)
            return; // an earlier one has taken its place
        tick_at_ = base::SteadyTime::max();
        feed([](worker::WorkerCore& core, base::SteadyTime now) { return core.tick(now); });
    });
}

void SimNode::perform(worker::Actions actions) {
    const int life = life_;
    for (worker::Action& action : actions)
        if (life == life_)
            std::visit([this](auto& item) { perform_one(item); }, action);
}

template <typename R>
void SimNode::call(const char* name, const std::function<R()>& execute,
                   const std::function<void(const R&)>& answered) {
    const Fate fate = world_.draw_fate();
    const auto answer = [this, answered](base::Duration back, R result) {
        at(back, [answered, result = std::move(result)] { answered(result); });
    };
    const int life = life_;
    world_.queue().after(fate.there, [=, this, line = std::string(name)] {
        // A request that was on its way may arrive although its sender has died.
        if (life != life_ && (fate.kind != Fate::Kind::normal || world_.random().chance(0.5)))
            return;
        const auto unknown = base::fail(base::ErrorCode::outcome_unknown, "the answer was lost");
        R result = unknown;
        if (fate.kind == Fate::Kind::fails_before)
            result = base::fail(base::ErrorCode::unavailable, "the store is away");
        else if (fate.kind == Fate::Kind::normal)
            result = execute();
        else if (fate.kind == Fate::Kind::unknown_after)
            static_cast<void>(execute());
        else if (fate.kind == Fate::Kind::unknown_late)
            world_.queue().after(fate.late, [execute] { static_cast<void>(execute()); });
        trace(line + (result ? " ok" : " " + result.error().message) + " (fate " +
              std::to_string(static_cast<int>(fate.kind)) + ")");
        if (life == life_)
            answer(fate.back, std::move(result));
    });
}

void SimNode::perform_one(worker::Register& action) {
    using R = base::Result<store::Session>;
    const base::SteadyTime sent_at = world_.now();
    call<R>(
        "register", [this, spec = action.spec] { return world_.store().register_session(spec); },
        [this, sent_at](const R& result) {
            feed([=](worker::WorkerCore& core, base::SteadyTime now) {
                return core.registered(now, sent_at, result);
            });
        });
}

void SimNode::perform_one(worker::Renew& action) {
    using R = base::Result<store::Renewal>;
    const base::SteadyTime sent_at = world_.now();
    call<R>(
        "renew", [this, action] { return world_.store().renew(action.session, action.request); },
        [this, sent_at, no = action.renew_no](const R& result) {
            answer_renewal(no, sent_at, result);
        });
}

void SimNode::answer_renewal(std::int64_t renew_no, base::SteadyTime sent_at,
                             const base::Result<store::Renewal>& answer) {
    base::Result<store::Renewal> result = answer;
    if (result)
        last_renewal_ = *result;
    if (!result && world_.plan().mutation == Mutation::core_ignores_self_fencing) {
        result = last_renewal_;
        sent_at = world_.now();
    }
    feed([=](worker::WorkerCore& core, base::SteadyTime now) {
        return core.renewed(now, renew_no, sent_at, result);
    });
}

void SimNode::perform_one(worker::Claim& action) {
    using R = base::Result<std::vector<store::Claimed>>;
    call<R>(
        "claim", [this, action] { return world_.store().claim(action.session, action.request); },
        [this, no = action.request.claim_no](const R& answer) {
            R result = answer;
            if (!result && world_.plan().mutation == Mutation::core_ignores_self_fencing)
                result = base::fail(base::ErrorCode::unavailable, "");
            feed([=](worker::WorkerCore& core, base::SteadyTime now) {
                return core.claim_answered(now, no, result);
            });
        });
}

void SimNode::perform_one(worker::ReadBackClaim& action) {
    using R = base::Result<std::vector<store::Claimed>>;
    call<R>(
        "read_back",
        [this, action] { return world_.store().claim_result(action.session, action.claim_no); },
        [this, no = action.claim_no](const R& result) {
            feed([=](worker::WorkerCore& core, base::SteadyTime now) {
                return core.claim_read_back(now, no, result);
            });
        });
}

void SimNode::perform_one(worker::Complete& action) {
    using R = base::Result<std::vector<domain::Verdict>>;
    call<R>(
        "complete", [this, action] { return world_.store().complete(action.session, action.ends); },
        [this, no = action.batch_no](const R& result) {
            feed([=](worker::WorkerCore& core, base::SteadyTime now) {
                return core.completed(now, no, result);
            });
        });
}

void SimNode::perform_one(worker::EndSession& action) {
    using R = base::Status;
    call<R>(
        "end_session",
        [this, action] { return world_.store().end_session(action.session, action.reason); },
        [this](const R& result) {
            feed([=](worker::WorkerCore& core, base::SteadyTime now) {
                return core.session_ended(now, result);
            });
        });
}

void SimNode::perform_one(worker::Idle& action) {
    const base::Duration wait =
        world_.random().chance(0.3) ? world_.between(1ms, action.patience) : action.patience;
    at(wait, [this] {
        feed([](worker::WorkerCore& core, base::SteadyTime now) { return core.woken(now); });
    });
}

void SimNode::perform_one(worker::StartRun& action) {
    const store::RunKey run = action.claimed.run;
    trace("starts " + name_of(run) + " " + action.claimed.kind);
    world_.run_started(run);
    handlers_[run] = Handler{action.session, std::move(action.claimed)};
    begin(run);
}

void SimNode::perform_one(worker::StopRun& action) {
    trace("stops " + name_of(action.run) + ": " + std::string(stop_why_name(action.why)));
    const auto handler = handlers_.find(action.run);
    if (handler == handlers_.end())
        return;
    if (world_.plan().mutation == Mutation::core_ignores_self_fencing)
        return;
    handler->second.told_to_stop = true;
    // "succeeded" on purpose: what a stopped handler says must not count.
    if (handler->second.claimed.kind != "stubborn")
        at(world_.between(1ms, 100ms), [this, run = action.run] { finish(run, {}); });
}

void SimNode::perform_one(worker::AbandonRun& action) {
    trace("abandons " + name_of(action.run));
}

void SimNode::perform_one(worker::LeaveProcess& action) {
    if (world_.plan().mutation != Mutation::core_ignores_self_fencing)
        die(action.why, world_.between(100ms, 2s));
}

void SimNode::perform_one(worker::Finished& /*action*/) {
    die("finished", world_.between(100ms, 2s));
}

void SimNode::perform_one(worker::Report& action) {
    world_.reported(action.kind);
    trace(std::string(report_kind_name(action.kind)) + " " + name_of(action.run) + " " +
          std::string(domain::verdict_name(action.verdict)) + " " + action.detail);
}

void SimNode::begin(const store::RunKey& run) {
    const Handler& handler = handlers_.at(run);
    const std::string& kind = handler.claimed.kind;
    if (kind == "pill") {
        at(world_.between(1us, 3s), [this] { die("swallowed a pill", world_.between(100ms, 1s)); });
    } else if (kind == "effect") {
        at(world_.between(1ms, 3s), [this, run] { transact(run); });
    } else {
        const bool is_long = kind == "slow" || kind == "stubborn";
        const auto length = is_long ? world_.between(1s, 40s) : world_.between(1ms, 2s);
        at(length, [this, run] {
            if (handlers_.contains(run))
                finish(run, draw_answer(handlers_.at(run).claimed));
        });
    }
    if (world_.random().chance(0.2))
        feed([run](worker::WorkerCore& core, base::SteadyTime now) {
            return core.progress(now, run, 50, "half way");
        });
}

void SimNode::transact(const store::RunKey& run) {
    const auto found = handlers_.find(run);
    if (found == handlers_.end() || found->second.told_to_stop)
        return;
    Handler& handler = found->second;
    handler.in_transaction = true;
    const auto body = [](store::EffectTransaction& transaction) -> base::Status {
        DEADMAN_TRY_STATUS(transaction.execute("insert into effects"));
        return {};
    };
    call<base::Status>(
        "transact",
        [this, session = handler.session, run, body] {
            return world_.store().transact(session, run, {}, body);
        },
        [this, run](const base::Status& result) {
            const auto again = handlers_.find(run);
            if (again == handlers_.end())
                return;
            again->second.in_transaction = false;
            domain::Answer answer;
            if (result)
                again->second.outcome = worker::TransactionOutcome::committed;
            else if (result.error().code == base::ErrorCode::outcome_unknown)
                again->second.outcome = worker::TransactionOutcome::unknown;
            // A careless handler says "succeeded" although it cannot know.
            const bool careless = again->second.outcome == worker::TransactionOutcome::unknown &&
                                  world_.random().chance(0.5);
            if (!result && !careless)
                answer.kind = domain::AnswerKind::error;
            at(world_.between(1us, 50ms), [this, run, answer] { finish(run, answer); });
        });
}

void SimNode::finish(const store::RunKey& run, domain::Answer answer) {
    const auto found = handlers_.find(run);
    if (found == handlers_.end() || found->second.in_transaction)
        return; // stopped during its transaction: it returns after that
    worker::TransactionOutcome outcome = found->second.outcome;
    if (outcome == worker::TransactionOutcome::unknown &&
        world_.plan().mutation == Mutation::unknown_taken_for_success) {
        outcome = worker::TransactionOutcome::none;
        answer = {};
    }
    handlers_.erase(found);
    feed([=](worker::WorkerCore& core, base::SteadyTime now) {
        return core.run_finished(now, run, answer, outcome);
    });
}

domain::Answer SimNode::draw_answer(const store::Claimed& claimed) {
    domain::Answer answer;
    const double fate = world_.random().unit();
    if (claimed.kind == "snooze" && fate < 0.6) {
        answer.kind = domain::AnswerKind::snooze;
        answer.delay = world_.between(10ms, 5s);
    } else if (fate < 0.15) {
        answer.kind = domain::AnswerKind::error;
    } else if (fate < 0.2) {
        answer.kind = domain::AnswerKind::failed;
    }
    return answer;
}

NodeView SimNode::view() const {
    NodeView view;
    if (!alive())
        return view;
    view.acts = !paused();
    view.buffered = core_->buffered();
    view.running = core_->running();
    view.held = core_->held();
    view.slots = static_cast<std::size_t>(options_.slots);
    view.whole = static_cast<std::size_t>(options_.slots + options_.prefetch);
    for (const auto& [run, handler] : handlers_)
        if (!handler.told_to_stop)
            view.believes_to_run.push_back(run.job);
    return view;
}

} // namespace deadman::sim
