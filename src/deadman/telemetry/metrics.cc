#include "deadman/telemetry/metrics.h"

#include <mutex>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "deadman/base/check.h"

namespace deadman::telemetry {
namespace {

/// From a millisecond to ten minutes: what claims, runs and waits take.
constexpr std::array default_buckets{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,   0.25, 0.5,
                                     1.0,   2.5,    5.0,   10.0, 30.0,  60.0, 300.0, 600.0};

class PrometheusCounter final : public Counter {
  public:
    explicit PrometheusCounter(prometheus::Counter& counter) : counter_(counter) {}

    void add(double amount) override {
        counter_.Increment(amount);
    }

    double value() const override {
        return counter_.Value();
    }

  private:
    prometheus::Counter& counter_;
};

class PrometheusGauge final : public Gauge {
  public:
    explicit PrometheusGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}

    void set(double value) override {
        gauge_.Set(value);
    }

    void add(double amount) override {
        gauge_.Increment(amount);
    }

    double value() const override {
        return gauge_.Value();
    }

  private:
    prometheus::Gauge& gauge_;
};

class PrometheusHistogram final : public Histogram {
  public:
    explicit PrometheusHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}

    void observe(double value) override {
        histogram_.Observe(value);
    }

  private:
    prometheus::Histogram& histogram_;
};

Labels fold(Labels labels) {
    for (auto& [name, value] : labels)
        value = "other";
    return labels;
}

/// The families of one type, and the series made so far.
template <typename Native, typename Series, typename Wrapped> class FamilySet {
  public:
    template <typename Builder, typename... Extra>
    Wrapped& get(prometheus::Registry& registry, Builder builder, const MetricName& metric,
                 const Labels& labels, const Extra&... extra) {
        Family& family = families_[std::string(metric.name)];
        if (!family.native)
            family.native = &builder()
                                 .Name(std::string(metric.name))
                                 .Help(std::string(metric.help))
                                 .Register(registry);
        if (const auto found = family.series.find(labels); found != family.series.end())
            return *found->second;
        // A family without labels never folds: its one series is the first.
        const bool full = family.series.size() >= Metrics::max_series;
        const Labels wanted = full ? fold(labels) : labels;
        auto& series = family.series[wanted];
        if (!series)
            series = std::make_unique<Series>(family.native->Add(wanted, extra...));
        return *series;
    }

    bool has(std::string_view name) const {
        return families_.find(name) != families_.end();
    }

  private:
    struct Family {
        prometheus::Family<Native>* native = nullptr;
        std::map<Labels, std::unique_ptr<Wrapped>> series;
    };

    std::map<std::string, Family, std::less<>> families_;
};

} // namespace

struct Metrics::Registry {
    mutable std::mutex mutex;
    prometheus::Registry native;
    FamilySet<prometheus::Counter, PrometheusCounter, Counter> counters;
    FamilySet<prometheus::Gauge, PrometheusGauge, Gauge> gauges;
    FamilySet<prometheus::Histogram, PrometheusHistogram, Histogram> histograms;
    std::map<std::string, prometheus::Histogram::BucketBoundaries, std::less<>> buckets;
};

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}

Metrics::~Metrics() = default;

Counter& Metrics::counter(const MetricName& metric, const Labels& labels) {
    const std::lock_guard lock(registry_->mutex);
    DEADMAN_CHECK(!registry_->gauges.has(metric.name) && !registry_->histograms.has(metric.name));
    return registry_->counters.get(registry_->native, prometheus::BuildCounter, metric, labels);
}

Gauge& Metrics::gauge(const MetricName& metric, const Labels& labels) {
    const std::lock_guard lock(registry_->mutex);
    DEADMAN_CHECK(!registry_->counters.has(metric.name) && !registry_->histograms.has(metric.name));
    return registry_->gauges.get(registry_->native, prometheus::BuildGauge, metric, labels);
}

Histogram& Metrics::histogram(const MetricName& metric, const Labels& labels,
                              std::span<const double> buckets) {
    const std::lock_guard lock(registry_->mutex);
    DEADMAN_CHECK(!registry_->counters.has(metric.name) && !registry_->gauges.has(metric.name));
    if (buckets.empty())
        buckets = default_buckets;
    const auto& chosen =
        registry_->buckets.try_emplace(std::string(metric.name), buckets.begin(), buckets.end())
            .first->second;
    return registry_->histograms.get(registry_->native, prometheus::BuildHistogram, metric, labels,
                                     chosen);
}

std::string Metrics::render() const {
    return prometheus::TextSerializer().Serialize(registry_->native.Collect());
}

} // namespace deadman::telemetry
