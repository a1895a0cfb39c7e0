#include "deadman/platform/signals.h"

#include <unistd.h>

#include <csignal>
#include <future>
#include <optional>

#include <gtest/gtest.h>

namespace deadman::platform {
namespace {

bool is_blocked(int number) {
    sigset_t set;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
    return ::sigismember(&set, number) == 1;
}

TEST(SignalWatch, CallsBackForEachSignalThatAsksToLeave) {
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
        std::promise<int> seen;
        auto watch = SignalWatch::for_termination([&seen](int got) { seen.set_value(got); });
        ASSERT_TRUE(watch);
        ::kill(::getpid(), number);
        EXPECT_EQ(seen.get_future().get(), number);
    }
}

TEST(SignalWatch, MayBeDestroyedWithoutASignalAndRestoresTheMask) {
    ASSERT_FALSE(is_blocked(SIGTERM));
    {
        std::optional<SignalWatch> watch = std::move(*SignalWatch::for_termination([](int) {}));
        EXPECT_TRUE(is_blocked(SIGTERM));
        SignalWatch moved = std::move(*watch);
        watch.reset();
        EXPECT_TRUE(is_blocked(SIGTERM));
    }
    EXPECT_FALSE(is_blocked(SIGTERM));
}

TEST(SignalWatch, MakesAClosedPipeAnErrorOfItsWrite) {
    auto watch = SignalWatch::for_termination([](int) {});
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    EXPECT_EQ(::write(ends[1], "x", 1), -1);
    EXPECT_EQ(errno, EPIPE);
    ::close(ends[1]);
}

} // namespace
} // namespace deadman::platform
