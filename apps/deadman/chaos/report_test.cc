#include "apps/deadman/chaos/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadman::chaos {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Report good_report() {
    Report report;
    report.store = "sqlite:\"odd\".db";
    report.kill_rate = 0.4;
    report.jobs = 6;
    report.verdict.succeeded = 6;
    report.verdict.effects = 6;
    report.runs = 10;
    report.lapsed = 4;
    report.kills = 2;
    report.timings.rescues = {{.job = 1, .fence = 2, .pid = 3, .due = {}, .took = 100ms},
                              {.job = 4, .fence = 5, .pid = 6, .due = {}, .took = 300ms}};
    return report;
}

TEST(Report, IsOkWhenNothingIsLostOrDoubledAndEnoughWasKilled) {
    EXPECT_TRUE(good_report().ok());
}

TEST(Report, IsNotOkForAnyOneFault) {
    const auto spoiled = [](auto spoil) {
        Report report = good_report();
        spoil(report);
        return report.ok();
    };
    EXPECT_FALSE(spoiled([](Report& r) { r.verdict.lost = {3}; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.verdict.duplicated = {3}; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.verdict.unearned = {3}; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.verdict.succeeded = 5; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.timed_out = true; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.lapsed = 3; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.lapsed = 5; }));
}

TEST(Report, CountsQuarantinedJobsAsEnded) {
    Report report = good_report();
    report.verdict.succeeded = 5;
    report.verdict.effects = 5;
    report.verdict.quarantined = 1;
    EXPECT_TRUE(report.ok());
    EXPECT_THAT(summary_line(report), HasSubstr("1 quarantined"));
}

TEST(Report, SummarisesInOneLine) {
    EXPECT_EQ(summary_line(good_report()),
              "6 succeeded, 6 effects, 0 lost, 0 duplicated, 2 workers killed");
}

TEST(Report, IsJsonWithTheNamesThatScriptsRead) {
    const std::string json = to_json(good_report());
    for (const char* name :
         {"store",       "seed",      "jobs",       "succeeded", "effects", "lost",   "duplicated",
          "quarantined", "runs",      "lapsed",     "released",  "kills",   "pauses", "fenced",
          "blocked_ms",  "rescue_ms", "restart_ms", "p50",       "p99",     "max",    "ok"})
        EXPECT_THAT(json, HasSubstr('"' + std::string(name) + '"'));
    EXPECT_THAT(json, HasSubstr(R"("sqlite:\"odd\".db")"));
    EXPECT_THAT(json, HasSubstr(R"("p99": 300.0)"));
    EXPECT_THAT(json, HasSubstr(R"("ok": true)"));
}

} // namespace
} // namespace deadman::chaos
