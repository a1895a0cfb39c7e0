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
    report.jobs = 600;
    report.verdict.succeeded = 600;
    report.verdict.effects = 600;
    report.runs = 1000;
    report.lapsed = 400;
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
    EXPECT_FALSE(spoiled([](Report& r) { r.verdict.succeeded = 599; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.timed_out = true; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.lapsed = 340; }));
    EXPECT_FALSE(spoiled([](Report& r) { r.lapsed = 460; }));
}

TEST(Report, CountsQuarantinedJobsAsEnded) {
    Report report = good_report();
    report.verdict.succeeded = 599;
    report.verdict.effects = 599;
    report.verdict.quarantined = 1;
    EXPECT_TRUE(report.ok());
    EXPECT_THAT(summary_line(report), HasSubstr("1 quarantined"));
}

TEST(Report, FewRunsNeedNotHitTheShareExactly) {
    Report report = good_report();
    report.jobs = report.verdict.succeeded = report.verdict.effects = 1;
    report.runs = 1;
    report.lapsed = 0;
    EXPECT_TRUE(report.ok());
    report.jobs = report.verdict.succeeded = report.verdict.effects = 60;
    report.runs = 100;
    report.lapsed = 25;
    EXPECT_TRUE(report.ok());
    report.lapsed = 0;
    EXPECT_FALSE(report.ok()) << "nobody was killed";
}

TEST(Report, WhatIsNotFinishedInTimeIsNotCalledLost) {
    Report report = good_report();
    report.timed_out = true;
    report.verdict.succeeded = report.verdict.effects = 580;
    report.verdict.unfinished = 20;
    EXPECT_FALSE(report.ok());
    EXPECT_THAT(summary_line(report), HasSubstr("0 lost, "));
    EXPECT_THAT(summary_line(report), HasSubstr("20 not finished in time"));
}

TEST(Report, SummarisesInOneLine) {
    EXPECT_EQ(summary_line(good_report()),
              "600 succeeded, 600 effects, 0 lost, 0 duplicated, 2 workers killed");
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
