// Goal: series keep their values and come out as Prometheus reads them; labels from outside cannot
// fill the memory.

#include "deadman/telemetry/metrics.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace deadman::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Metrics, ASeriesIsTheSameForTheSameNameAndLabels) {
    Metrics metrics;
    metrics.counter(metric::jobs_enqueued_total, {{"queue", "mail"}}).increment();
    metrics.counter(metric::jobs_enqueued_total, {{"queue", "mail"}}).add(2);
    metrics.counter(metric::jobs_enqueued_total, {{"queue", "other"}}).increment();
    EXPECT_EQ(metrics.counter(metric::jobs_enqueued_total, {{"queue", "mail"}}).value(), 3);
    EXPECT_EQ(&metrics.gauge(metric::leader), &metrics.gauge(metric::leader));
}

TEST(Metrics, RendersCountersGaugesAndHistograms) {
    Metrics metrics;
    metrics.counter(metric::jobs_enqueued_total, {{"queue", "mail"}}).add(3);
    metrics.gauge(metric::leases_active).set(7);
    metrics.gauge(metric::leases_active).add(-2);
    metrics.histogram(metric::job_run_seconds).observe(base::Duration(30ms));
    const std::string text = metrics.render();
    EXPECT_THAT(text, HasSubstr("# HELP deadman_jobs_enqueued_total Jobs accepted\n"
                                "# TYPE deadman_jobs_enqueued_total counter\n"
                                "deadman_jobs_enqueued_total{queue=\"mail\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("deadman_leases_active 5\n"));
    EXPECT_THAT(text, HasSubstr("deadman_job_run_seconds_bucket{le=\"0.025\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("deadman_job_run_seconds_bucket{le=\"0.05\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("deadman_job_run_seconds_count 1\n"));
}

TEST(Metrics, LabelValuesAreEscaped) {
    Metrics metrics;
    metrics.counter(metric::jobs_enqueued_total, {{"queue", "a\"b\\c\nd"}}).increment();
    EXPECT_THAT(metrics.render(), HasSubstr(R"(queue="a\"b\\c\nd")"));
}

TEST(Metrics, AFamilyFoldsIntoOtherWhenItIsFull) {
    Metrics metrics;
    for (std::size_t i = 0; i < Metrics::max_series + 50; ++i)
        metrics.counter(metric::jobs_enqueued_total, {{"queue", "q" + std::to_string(i)}})
            .increment();
    EXPECT_EQ(metrics.counter(metric::jobs_enqueued_total, {{"queue", "other"}}).value(), 50);
    EXPECT_EQ(metrics.counter(metric::jobs_enqueued_total, {{"queue", "q0"}}).value(), 1);
    const std::string text = metrics.render();
    const auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_EQ(static_cast<std::size_t>(lines), Metrics::max_series + 3);
}

TEST(Metrics, AFamilysFirstBucketsStand) {
    Metrics metrics;
    const std::vector<double> buckets{1, 2};
    metrics.histogram(metric::job_wait_seconds, {{"queue", "a"}}, buckets).observe(1.5);
    metrics.histogram(metric::job_wait_seconds, {{"queue", "b"}}).observe(1.5);
    EXPECT_THAT(metrics.render(), HasSubstr("{queue=\"b\",le=\"2\"} 1\n"));
}

TEST(Metrics, AreSafeToUseFromManyThreads) {
    Metrics metrics;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&, i] {
                for (int n = 0; n < 500; ++n) {
                    metrics
                        .counter(metric::jobs_finished_total, {{"outcome", std::to_string(i % 2)}})
                        .increment();
                    if (n % 100 == 0)
                        (void)metrics.render();
                }
            });
    }
    EXPECT_EQ(metrics.counter(metric::jobs_finished_total, {{"outcome", "0"}}).value(), 1000);
}

TEST(MetricNames, AreDistinctAndHaveThePrefix) {
    std::set<std::string_view> names;
    for (const MetricName& metric : metric::all) {
        names.insert(metric.name);
        EXPECT_TRUE(metric.name.starts_with("deadman_")) << metric.name;
        EXPECT_FALSE(metric.help.empty()) << metric.name;
    }
    EXPECT_EQ(names.size(), metric::all.size());
}

TEST(MetricsDeathTest, OneNameIsOneType) {
    Metrics metrics;
    metrics.counter(metric::leader);
    EXPECT_DEATH(metrics.gauge(metric::leader), "");
}

} // namespace
} // namespace deadman::telemetry
