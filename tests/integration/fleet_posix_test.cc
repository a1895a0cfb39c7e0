// Goal:   the harness's worker processes are replaced when they die, killed and woken as asked, and
// never
//         outlive their fleet.
// Method: a fleet of shells; processes are looked at through the fleet alone, and through their
// ids.

#include "apps/deadman/chaos/fleet.h"

#include <poll.h>
#include <signal.h>

#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "deadman/platform/paths.h"

namespace deadman::chaos {
namespace {

using namespace std::chrono_literals;

class FleetTest : public testing::Test {
  protected:
    // Each process appends its id to a file, then does `then`.
    Fleet fleet(int workers, const std::string& then) {
        return Fleet({"/bin/sh", "-c", "echo $$ >> " + log() + "; " + then}, workers, clock_);
    }

    std::string log() const {
        return directory_.path() + "/pids";
    }

    std::vector<int> started() const {
        std::vector<int> pids;
        std::ifstream file(log());
        for (int pid; file >> pid;)
            pids.push_back(pid);
        return pids;
    }

    bool tend_until(Fleet& fleet, const std::function<bool()>& condition) {
        const base::SteadyTime deadline = clock_.steady_now() + 20s;
        while (!condition()) {
            if (!fleet.tend() || clock_.steady_now() > deadline)
                return condition();
            ::poll(nullptr, 0, 5);
        }
        return true;
    }

    static bool is_stopped_by_kernel(int pid) {
        std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
        std::string text;
        std::getline(stat, text);
        const std::size_t end = text.rfind(')');
        return end != std::string::npos && text.compare(end + 2, 1, "T") == 0;
    }

    base::SystemClock clock_;
    base::Random random_{1};

  private:
    platform::TemporaryDirectory directory_ =
        std::move(*platform::TemporaryDirectory::create("deadman-fleet-test"));
};

TEST_F(FleetTest, ReplacesWhoDiesAndKnowsWhoKilledIt) {
    Fleet workers = fleet(2, "exec sleep 1000");
    ASSERT_TRUE(tend_until(workers, [&] { return started().size() == 2; }));
    ASSERT_TRUE(workers.kill_one(random_));
    EXPECT_EQ(workers.running(), 1) << "the one that was killed does not count as running";
    ASSERT_TRUE(tend_until(workers, [&] { return started().size() == 3; }));
    EXPECT_EQ(workers.running(), 2);
    ::kill(started().at(2), SIGKILL);
    ASSERT_TRUE(tend_until(workers, [&] { return started().size() == 4; }));
    EXPECT_EQ(workers.losses().deaths.size(), 2U);
    EXPECT_EQ(workers.losses().killed, 2);
    EXPECT_EQ(workers.losses().killed_by_us, 1);
    EXPECT_EQ(workers.losses().left, 0);
}

TEST_F(FleetTest, WakesWhoHasStoppedItselfWhenItIsTime) {
    Fleet workers = fleet(1, "kill -STOP $$; exit 70");
    ASSERT_TRUE(tend_until(
        workers, [&] { return !started().empty() && is_stopped_by_kernel(started().front()); }));
    const int pid = started().front();
    workers.stopped(pid, clock_.now(), 1h);
    EXPECT_TRUE(workers.is_stopped(pid));
    EXPECT_EQ(workers.running(), 0);
    EXPECT_FALSE(workers.kill_one(random_)) << "who is stopped is not killed";
    ASSERT_TRUE(workers.tend());
    EXPECT_TRUE(workers.is_stopped(pid));

    workers.wake_sooner(0s);
    ASSERT_TRUE(tend_until(workers, [&] { return workers.losses().left == 1; }));
    EXPECT_FALSE(workers.is_running(pid));
    EXPECT_FALSE(workers.is_stopped(pid));
}

TEST_F(FleetTest, GivesUpOnWorkersThatCannotStart) {
    Fleet workers = fleet(2, "exit 1");
    EXPECT_FALSE(tend_until(workers, [] { return false; }));
    EXPECT_EQ(workers.tend().error().code, base::ErrorCode::unavailable);
    EXPECT_LE(started().size(), 20U);
}

TEST_F(FleetTest, DismissesInOrderAndThenByForce) {
    const auto ends = [this](const std::string& then) {
        Fleet workers = fleet(1, then);
        const std::size_t before = started().size();
        EXPECT_TRUE(tend_until(workers, [&] { return started().size() > before; }));
        const int pid = started().back();
        workers.dismiss(300ms);
        return ::kill(pid, 0) != 0;
    };
    EXPECT_TRUE(ends("exec sleep 1000"));
    EXPECT_TRUE(ends("trap '' TERM; while :; do sleep 1; done"));
}

} // namespace
} // namespace deadman::chaos
