#include "apps/deadman/chaos/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadman::chaos {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

base::TimePoint at(int seconds) {
    return base::from_micros(1'700'000'000'000'000) + std::chrono::seconds(seconds);
}

JournalEntry start(std::int64_t job, int seconds) {
    return {.at = at(seconds),
            .pid = 1,
            .note = Note::starts,
            .run = {domain::JobId{job}, domain::Fence{1}},
            .detail = {}};
}

EndedRun lapse(std::int64_t job, std::int64_t session, int seconds) {
    return {.job = job, .fence = 1, .session = session, .lapsed = true, .finished_at = at(seconds)};
}

ProbedSession session(int pid, int started, int lease_until) {
    return {.pid = pid,
            .ended = true,
            .held = 0,
            .started_at = at(started),
            .lease_until = at(lease_until)};
}

TEST(Timings, MeasureRescueFromTheDeathAndRestartFromTheRescue) {
    const Timings timings = measure({lapse(5, 1, 12)}, {{1, session(77, 0, 18)}}, {{77, at(10)}},
                                    {start(5, 9), start(5, 13), start(5, 20)});
    EXPECT_THAT(timings.rescue_times(), ElementsAre(2s));
    EXPECT_THAT(timings.restarts, ElementsAre(1s));
}

TEST(Timings, MeasureAPausedRunFromTheEndOfItsLease) {
    // The process leaves only after it was woken, long after the rescue.
    const Timings timings =
        measure({lapse(5, 1, 12)}, {{1, session(77, 0, 11)}}, {{77, at(30)}}, {start(5, 9)});
    EXPECT_THAT(timings.rescue_times(), ElementsAre(1s));
    EXPECT_THAT(timings.restarts, IsEmpty());
}

TEST(Timings, TakeADeathOfTheSessionsOwnLife) {
    // Process id 77 had been used before.
    const Timings timings = measure({lapse(5, 2, 12)}, {{2, session(77, 6, 18)}},
                                    {{77, at(5)}, {77, at(11)}, {78, at(7)}}, {});
    EXPECT_THAT(timings.rescue_times(), ElementsAre(1s));
}

TEST(Timings, LeaveOutRunsThatEndedOtherwise) {
    EndedRun ended = lapse(5, 1, 12);
    ended.lapsed = false;
    const Timings timings = measure({ended}, {{1, session(77, 0, 18)}}, {{77, at(10)}}, {});
    EXPECT_THAT(timings.rescue_times(), IsEmpty());
}

TEST(Percentiles, AreByNearestRank) {
    std::vector<base::Duration> samples;
    for (int count = 200; count > 0; --count)
        samples.push_back(std::chrono::milliseconds(count));
    const Percentiles found = percentiles(samples);
    EXPECT_EQ(found.p50, 100ms);
    EXPECT_EQ(found.p99, 198ms);
    EXPECT_EQ(found.max, 200ms);
    EXPECT_EQ(percentiles({3ms}).p50, 3ms);
    EXPECT_EQ(percentiles({}).max, 0ms);
}

} // namespace
} // namespace deadman::chaos
