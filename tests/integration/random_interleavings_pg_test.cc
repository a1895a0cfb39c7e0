// Reaper against completion, cancel and application transaction in random orders (case C05), and
// everybody against everybody without a deadlock (case C48).
//
// Goal:   each job is in exactly one place, ended once, and its end is the one that its author was
// told. Method: three actors with a transaction of three steps each; a seed chooses who steps next.
// A step that waits for a
//         lock is left waiting until the one who holds it has stepped on.

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "deadman/base/random.h"
#include "tests/support/claim_protocol.h"
#include "tests/support/postgres_store.h"

namespace deadman::test {
namespace {

using base::ErrorCode;
using base::Random;

/// begin, one statement, commit; a step may be left waiting.
class Actor {
  public:
    Actor(PostgresWire& wire, std::string statement)
        : wire_(wire), statement_(std::move(statement)) {}

    bool is_over() const {
        return step_ == 3;
    }

    /// Takes one step, or finds that the last one still waits.
    void advance() {
        if (!waiting_)
            wire_.send(step_ == 0   ? "begin"
                       : step_ == 1 ? statement_
                       : failed_    ? "rollback"
                                    : "commit");
        waiting_ = wire_.blocks();
        if (waiting_)
            return;
        try {
            const WireRows rows = wire_.finish();
            if (step_ == 1 && !rows.empty() && !rows[0].empty())
                answer_ = rows[0][0];
        } catch (const WireFailure& failure) {
            answer_ = failure.sqlstate();
            failed_ = true;
        }
        ++step_;
    }

    const std::string& answer() const {
        return answer_;
    }

  private:
    PostgresWire& wire_;
    const std::string statement_;
    int step_ = 0;
    bool waiting_ = false;
    bool failed_ = false;
    std::string answer_;
};

class RandomInterleavings : public ClaimProtocol {
  protected:
    void interleave(Random& random, std::vector<Actor>& actors) {
        for (;;) {
            std::vector<Actor*> going;
            for (Actor& actor : actors)
                if (!actor.is_over())
                    going.push_back(&actor);
            if (going.empty())
                return;
            going[random.below(going.size())]->advance();
        }
    }

    PostgresWire completer{database.url()};
    PostgresWire reaper{database.url()};
    PostgresWire operator_side{database.url()};
};

TEST_F(RandomInterleavings, OfReaperCompletionAndCancelEndEachJobOnce) {
    const std::uint64_t seed = base::random_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    for (int round = 0; round < 1'000; ++round) {
        const bool solo = random.chance(0.5);
        const bool in_app = solo && random.chance(0.5);
        const bool with_cancel = random.chance(0.1); // it may wait half a second
        const auto outcome = random.chance(0.7) ? succeeded : error;
        const auto job = enqueue(c, 1, solo).at(0);
        const auto s = session();
        const auto held = claim(c, s, 1, 1);
        ASSERT_EQ(held.size(), 1u);
        expire(s);
        ASSERT_EQ(mark(), s.id);

        std::vector<Actor> actors;
        actors.emplace_back(completer, in_app ? app_sql("complete", held[0], s)
                                              : complete_sql(s, held, outcome));
        actors.emplace_back(reaper, "select returned from deadman.reap_leases(3, 0)");
        if (with_cancel)
            actors.emplace_back(operator_side,
                                "select deadman.cancel(" + std::to_string(job) + ")");
        interleave(random, actors);
        return_leases(c);

        const std::string told = actors[0].answer();
        const bool ended_by_session = told == "ok" || (in_app && told.empty());
        const std::string is = state(job);
        const std::string cancel = with_cancel ? actors[2].answer() : "";
        SCOPED_TRACE("round " + std::to_string(round) + " told '" + told + "' cancel '" + cancel +
                     "' is " + is);
        if (cancel == "requested" || cancel == "cancelled" || told == "cancelled")
            EXPECT_EQ(is, "cancelled");
        else if (ended_by_session)
            EXPECT_EQ(is, outcome == error && !in_app ? "scheduled" : "succeeded");
        else
            EXPECT_EQ(is, "pending");
        const std::int64_t ends = c.number(
            "select (select count(*) from deadman.done where id = " + std::to_string(job) +
            ") + (select count(*) from deadman.run where id = " + std::to_string(job) + ")");
        EXPECT_EQ(ends, cancel == "cancelled" ? 2 : 1);
        if (HasFailure())
            return;
        // What is left claimable must not be claimed in the next round.
        c.run("delete from deadman.ready; delete from deadman.later");
    }
}

class Everybody : public testing::Test {
  protected:
    void start(std::function<void(Random&)> step) {
        const std::uint64_t seed = seeds_.next();
        threads_.emplace_back([this, step = std::move(step), seed] {
            Random random(seed);
            while (!over_)
                step(random);
        });
    }

    /// A fault of the test where the code is none of those.
    template <typename T>
    void expect(const base::Result<T>& result, std::set<ErrorCode> allowed = {}) {
        if (!result && !allowed.contains(result.error().code)) {
            ADD_FAILURE() << base::error_code_name(result.error().code) << ": "
                          << result.error().message;
            over_ = true;
        }
    }

    domain::JobId random_job(Random& random) {
        const std::int64_t newest = newest_.load();
        return {std::max<std::int64_t>(1, newest - static_cast<std::int64_t>(random.below(300)))};
    }

    base::SystemClock clock_;
    PostgresDatabase database_;
    PostgresWire c_{database_.url()};
    std::unique_ptr<store::JobStore> store_ = open_store(clock_, database_.url());
    const std::uint64_t seed_ = base::random_seed();
    Random seeds_{seed_};
    std::atomic<bool> over_{false};
    std::atomic<std::int64_t> newest_{1};
    std::vector<std::thread> threads_;
};

TEST_F(Everybody, AtOnceWithoutADeadlock) {
    SCOPED_TRACE("seed " + std::to_string(seed_));
    for (int i = 0; i < 4; ++i)
        start([this](Random& random) {
            std::set<std::uint64_t> keys;
            while (keys.size() < 100)
                keys.insert(random.below(200));
            std::vector<domain::JobSpec> specs;
            for (const std::uint64_t key : keys) {
                specs.push_back({.kind = "work"});
                specs.back().unique_key = "key " + std::to_string(key);
            }
            for (std::size_t at = specs.size(); at > 1; --at)
                std::swap(specs[at - 1], specs[random.below(at)]);
            const auto enqueued = store_->enqueue(specs);
            expect(enqueued);
            if (enqueued)
                newest_ = std::max(newest_.load(), enqueued->back().id.value);
        });
    for (int i = 0; i < 3; ++i)
        start([this, session = open_session(*store_),
               no = std::int64_t{0}](Random& random) mutable {
            expect(store_->renew(session.key, {}));
            const auto claimed =
                store_->claim(session.key, {.claim_no = ++no, .queues = {"default"}, .max = 50});
            expect(claimed);
            if (!claimed)
                return;
            std::vector<store::RunEnd> ends;
            for (const store::Claimed& one : *claimed)
                ends.push_back({one.run, {}});
            for (store::RunEnd& end : ends)
                if (random.chance(0.3))
                    end.answer.kind = domain::AnswerKind::failed;
            for (std::size_t at = ends.size(); at > 1; --at)
                std::swap(ends[at - 1], ends[random.below(at)]);
            expect(store_->complete(session.key, ends));
        });
    start([this](Random&) {
        const auto leader = store_->try_lead();
        expect(leader);
        if (leader && *leader)
            expect((*leader)->sweep({.retention = std::chrono::seconds(1)}));
    });
    start([this](Random& random) { expect(store_->cancel(random_job(random))); });
    start([this](Random& random) {
        expect(store_->retry(random_job(random)), {ErrorCode::conflict, ErrorCode::not_found});
    });
    c_.run("select pg_sleep(8)");
    over_ = true;
    for (std::thread& thread : threads_)
        thread.join();
    EXPECT_LE(
        c_.number("select deadlocks from pg_stat_database where datname = current_database()"), 1);
    EXPECT_EQ(c_.number("select count(*) from (select 1 from deadman.unique_key k join deadman.job "
                        "j on j.id = k.job "
                        "where j.unique_key <> k.key) wrong"),
              0);
    EXPECT_EQ(c_.number("select count(*) from deadman.unique_key k where not exists (select from "
                        "deadman.locate(k.job) where place <> 'done')"),
              0)
        << "a key outlived its job";
}

} // namespace
} // namespace deadman::test
