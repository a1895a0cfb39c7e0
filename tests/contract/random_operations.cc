// Goal:   stores that agree on every answer to any sequence of operations.
// Method: operations are drawn from a seed; what they name (jobs, sessions, runs) is taken by
// number, so
//         that stores with other ids can be compared. Where the contract leaves a choice (which of
//         many jobs a short claim takes), the plan avoids it: claims take all there is of their
//         queues. Times end between two sweeps, so that a clock that also runs by itself decides
//         nothing.

#include "tests/contract/random_operations.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>

#include "deadman/base/random.h"
#include "tests/contract/memory_fixture.h"
#include "tests/contract/operation_side.h"

namespace deadman::contract {
namespace {

using namespace std::chrono_literals;
using domain::AnswerKind;

constexpr std::uint64_t first_seed = 1'000;
constexpr std::size_t most_sessions = 4;
constexpr int everything = 1'000;

domain::LeaseTerms plan_terms() {
    domain::LeaseTerms terms;
    terms.lease = 8'500ms;
    return terms;
}

class Sequence {
  public:
    Sequence(std::uint64_t seed, const FixtureFactory& subject)
        : random_(seed), model_(make_memory_fixture, plan_terms()),
          subject_(subject, plan_terms()) {}

    /// The first difference, with what led to it; empty where there is none.
    std::string play(int steps) {
        for (int step = 0; step < steps && difference_.empty(); ++step) {
            draw();
            if (step % 10 == 9 || step == steps - 1)
                apply("state", [](OperationSide& side) { return side.whole_state(); });
        }
        return difference_;
    }

  private:
    template <typename Operation> void apply(const std::string& what, const Operation& operation) {
        if (!difference_.empty())
            return;
        const std::string expected = operation(model_);
        const std::string actual = operation(subject_);
        if (what != "state") {
            past_.push_back(what + " -> " + expected);
            if (past_.size() > 40)
                past_.pop_front();
        }
        if (expected == actual)
            return;
        difference_ = "after:\n";
        for (const std::string& line : past_)
            difference_ += "  " + line + "\n";
        difference_ += what + " differs\n--- model\n" + expected + "\n--- subject\n" + actual;
    }

    void draw() {
        switch (random_.below(18)) {
        case 0:
        case 1:
        case 2:
            return enqueue();
        case 3:
        case 4:
        case 5:
            return claim();
        case 6:
            return claim_suspect();
        case 7:
        case 8:
        case 9:
            return complete();
        case 10:
            return transact();
        case 11:
            return renew();
        case 12:
            return end_session();
        case 13:
        case 14:
            return operate();
        case 15:
            return pause_or_resume();
        default:
            return pass();
        }
    }

    std::string some_queue() {
        return std::string(1, static_cast<char>('a' + random_.below(3)));
    }

    void enqueue() {
        std::vector<domain::JobSpec> specs;
        for (std::uint64_t i = 0; i <= random_.below(3); ++i) {
            domain::JobSpec spec;
            spec.kind = "work";
            spec.queue = some_queue();
            spec.priority = static_cast<int>(random_.below(10));
            spec.max_attempts = 1 + static_cast<int>(random_.below(3));
            spec.transactional = random_.chance(0.4);
            if (random_.chance(0.3))
                spec.delay = random_.chance(0.5) ? 2'500ms : 12'500ms;
            if (random_.chance(0.3))
                spec.unique_key = "u" + std::to_string(random_.below(4));
            if (random_.chance(0.2)) { // few enough for conflicts and for replays
                spec = {.kind = "work", .queue = "a", .priority = random_.chance(0.8) ? 5 : 6};
                spec.idempotency_key = "i" + std::to_string(random_.below(6));
            }
            specs.push_back(spec);
        }
        apply("enqueue " + std::to_string(specs.size()),
              [&](OperationSide& side) { return side.enqueue(specs); });
    }

    std::size_t some_session() {
        const bool few = model_.sessions() < most_sessions;
        if (model_.sessions() == 0 || (few && random_.chance(0.5)) || random_.chance(0.15))
            apply("open session", [](OperationSide& side) { return side.open_session(); });
        // The latest few: older ones have mostly ended.
        const std::size_t recent = std::min(model_.sessions(), most_sessions);
        return model_.sessions() - 1 - random_.below(recent);
    }

    void claim() {
        PlannedClaim plan{.session = some_session(), .request = {}};
        plan.request.max = everything;
        plan.request.claim_no = next_claim_;
        plan.request.queues = {some_queue()};
        if (random_.chance(0.5))
            plan.request.queues = {"a", "b", "c"};
        const std::size_t before = model_.runs();
        const std::string what = "session " + std::to_string(plan.session) + " claims";
        apply(what, [&](OperationSide& side) { return side.claim(plan); });
        if (model_.runs() == before)
            return; // an empty claim leaves its number free
        ++next_claim_;
        if (random_.chance(0.3)) {
            apply(what + " again", [&](OperationSide& side) { return side.claim(plan); });
            apply(what + " back", [&](OperationSide& side) { return side.read_claim(plan); });
        }
    }

    void claim_suspect() {
        PlannedClaim plan{.session = some_session(), .request = {}};
        plan.request.claim_no = next_claim_++;
        plan.request.queues = {some_queue()};
        plan.request.suspect = true;
        if (model_.held_by(plan.session) > 0 || model_.pending_suspects(plan.request.queues[0]) > 1)
            return;
        apply("session " + std::to_string(plan.session) + " claims a suspect",
              [&](OperationSide& side) { return side.claim(plan); });
    }

    domain::Answer some_answer() {
        domain::Answer made;
        constexpr AnswerKind kinds[] = {
            AnswerKind::succeeded, AnswerKind::succeeded, AnswerKind::error,  AnswerKind::error,
            AnswerKind::failed,    AnswerKind::snooze,    AnswerKind::release};
        made.kind = kinds[random_.below(std::size(kinds))];
        made.delay = random_.chance(0.5) ? 1'500ms : 9'500ms;
        if (made.kind == AnswerKind::succeeded && random_.chance(0.5))
            made.result = R"({"by":"answer"})";
        if (made.kind == AnswerKind::error || made.kind == AnswerKind::failed) {
            made.reason = "reason" + std::to_string(random_.below(3));
            made.message = "message" + std::to_string(random_.below(3));
        }
        return made;
    }

    /// Mostly a recent run, now and then any: ended, lapsed, repeated.
    std::size_t some_run() {
        const std::size_t recent = std::min<std::size_t>(model_.runs(), 8);
        if (random_.chance(0.2))
            return random_.below(model_.runs());
        return model_.runs() - 1 - random_.below(recent);
    }

    std::size_t some_session_for(std::size_t run) {
        return random_.chance(0.95) ? model_.session_of(run) : some_session();
    }

    void complete() {
        if (model_.runs() == 0)
            return;
        std::vector<PlannedEnd> ends;
        std::string what;
        const std::size_t session = some_session_for(some_run());
        for (std::uint64_t i = 0; i <= random_.below(5); ++i) {
            const std::size_t run = some_run();
            const auto same = [&](const PlannedEnd& end) { return end.run == run; };
            if (std::ranges::any_of(ends, same))
                continue;
            ends.push_back({run, some_answer()});
            what += " run " + std::to_string(run) + " of job " +
                    std::to_string(model_.job_of(run)) + " answer " +
                    std::to_string(static_cast<int>(ends.back().answer.kind));
        }
        apply("session " + std::to_string(session) + " completes" + what,
              [&](OperationSide& side) { return side.complete(session, ends); });
    }

    void transact() {
        if (model_.runs() == 0)
            return;
        const std::size_t run = some_run();
        if (!model_.is_solo(run))
            return;
        const std::size_t session = some_session_for(run);
        const std::string what = " run " + std::to_string(run);
        if (random_.chance(0.3))
            apply("transact in vain" + what,
                  [&](OperationSide& side) { return side.transact_in_vain(session, run); });
        else
            apply("transact" + what, [&](OperationSide& side) {
                return side.transact(session, run, "effect" + std::to_string(run));
            });
    }

    void renew() {
        const std::size_t session = some_session();
        std::vector<std::size_t> started;
        for (std::size_t run = model_.runs() - std::min<std::size_t>(model_.runs(), 30);
             run < model_.runs(); ++run)
            if (model_.session_of(run) == session && random_.chance(0.5))
                started.push_back(run);
        apply("session " + std::to_string(session) + " renews",
              [&](OperationSide& side) { return side.renew(session, started); });
    }

    void end_session() {
        if (model_.sessions() == 0 || random_.chance(0.5))
            return;
        const std::size_t session = some_session();
        apply("session " + std::to_string(session) + " ends",
              [&](OperationSide& side) { return side.end_session(session); });
        tick(); // a store may leave the return of its runs to the next sweep
    }

    void operate() {
        if (model_.jobs() == 0)
            return;
        const std::size_t job = random_.below(model_.jobs());
        const std::string what = " job " + std::to_string(job);
        switch (random_.below(4)) {
        case 0:
        case 1:
            return apply("cancel" + what, [&](OperationSide& side) { return side.cancel(job); });
        case 2:
            return apply("retry" + what, [&](OperationSide& side) { return side.retry(job); });
        default:
            return apply("remove" + what, [&](OperationSide& side) { return side.remove(job); });
        }
    }

    void pause_or_resume() {
        const std::string queue = some_queue();
        if (random_.chance(0.3))
            apply("pause " + queue, [&](OperationSide& side) { return side.pause(queue); });
        else
            apply("resume " + queue, [&](OperationSide& side) { return side.resume(queue); });
    }

    void tick() {
        apply("tick", [](OperationSide& side) { return side.tick(); });
    }

    void pass() {
        const std::uint64_t ticks = 1 + random_.below(12);
        for (std::uint64_t i = 0; i < ticks; ++i)
            tick();
    }

    base::Random random_;
    OperationSide model_;
    OperationSide subject_;
    std::int64_t next_claim_ = 1;
    std::deque<std::string> past_;
    std::string difference_;
};

TEST_P(RandomOperations, AgreeWithTheModel) {
    const RandomOperationsParam& param = GetParam();
    const char* chosen = std::getenv("DEADMAN_SEED");
    const std::uint64_t from = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : first_seed;
    const int sequences = chosen != nullptr ? 1 : param.sequences;
    for (std::uint64_t seed = from; seed < from + static_cast<std::uint64_t>(sequences); ++seed) {
        const std::string difference = Sequence(seed, param.make).play(param.steps);
        ASSERT_TRUE(difference.empty())
            << "seed " << seed << " (DEADMAN_SEED=" << seed << " plays it alone)\n"
            << difference;
    }
}

} // namespace

// A store may bring the suite first and this comparison later.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RandomOperations);

} // namespace deadman::contract
