#include "deadman/store/postgres/internal/call_watch.h"

#include <array>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace deadman::store::postgres {
namespace {

using namespace std::chrono_literals;

class CallWatchTest : public testing::Test {
  protected:
    CallWatchTest() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair_.data()), 0);
    }

    ~CallWatchTest() override {
        for (const int end : pair_)
            ::close(end);
    }

    int socket() const {
        return pair_[0];
    }

    /// Waits as the driver does: until something arrives or the connection ends.
    bool ends_within(int milliseconds) const {
        pollfd waits{socket(), POLLIN, 0};
        return ::poll(&waits, 1, milliseconds) == 1;
    }

    base::SimulatedClock clock;
    CallWatch watch{clock};

  private:
    std::array<int, 2> pair_{-1, -1};
};

TEST_F(CallWatchTest, CutsOffWhoeverIsPastItsDeadline) {
    const CallWatch::Guard guard(watch, socket(), 10s);
    clock.advance(9s);
    EXPECT_FALSE(ends_within(50));
    EXPECT_FALSE(guard.was_cut());
    clock.advance(1s);
    EXPECT_TRUE(ends_within(5'000));
    EXPECT_TRUE(guard.was_cut());
}

TEST_F(CallWatchTest, SoonerDeadlineThatComesLaterCounts) {
    const CallWatch::Guard early(watch, -1, 1h);
    const CallWatch::Guard guard(watch, socket(), 1s);
    clock.advance(1s);
    EXPECT_TRUE(ends_within(5'000));
    EXPECT_FALSE(early.was_cut());
}

TEST_F(CallWatchTest, CallThatHasEndedIsLeftAlone) {
    {
        const CallWatch::Guard guard(watch, socket(), 1s);
    }
    CallWatch::Guard other(watch, -1, 2s);
    clock.advance(2s);
    EXPECT_FALSE(ends_within(50));
}

TEST_F(CallWatchTest, PausedOneIsLeftAloneUntilItGoesOn) {
    CallWatch::Guard guard(watch, socket(), 1s);
    guard.pause();
    clock.advance(1h);
    EXPECT_FALSE(ends_within(50));
    guard.restart(1s);
    clock.advance(1s);
    EXPECT_TRUE(ends_within(5'000));
}

} // namespace
} // namespace deadman::store::postgres
