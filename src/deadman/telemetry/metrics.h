#pragma once
// Metrics: counters, gauges and histograms by name and labels, and their text for Prometheus.
//
// Contract:      a name stands for one type and one sentence. Labels are queue, kind, state,
// outcome,
//                op, worker group: never ids. A family that has max_series of them folds the label
//                values of new ones into "other", so that a caller cannot fill the memory.
// Thread-safety: safe for concurrent use; the references stay valid as long as the Metrics.
// Blocking:      looking a series up takes a mutex: keep the reference on hot paths.
// Units:         seconds and bytes, as Prometheus wants them.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "deadman/base/time.h"
#include "deadman/telemetry/metric_names.h"

namespace deadman::telemetry {

using Labels = std::map<std::string, std::string>;

class Counter {
  public:
    virtual ~Counter() = default;
    virtual void add(double amount) = 0;
    virtual double value() const = 0;

    void increment() {
        add(1);
    }
};

class Gauge {
  public:
    virtual ~Gauge() = default;
    virtual void set(double value) = 0;
    virtual void add(double amount) = 0;
    virtual double value() const = 0;
};

class Histogram {
  public:
    virtual ~Histogram() = default;
    virtual void observe(double value) = 0;

    void observe(base::Duration duration) {
        observe(std::chrono::duration<double>(duration).count());
    }
};

class Metrics {
  public:
    static constexpr std::size_t max_series = 200;

    Metrics();
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    Counter& counter(const MetricName& metric, const Labels& labels = {});
    Gauge& gauge(const MetricName& metric, const Labels& labels = {});

    /// `buckets` are upper bounds, rising; those of the family's first call stand.
    Histogram& histogram(const MetricName& metric, const Labels& labels = {},
                         std::span<const double> buckets = {});

    /// The text exposition format, version 0.0.4.
    std::string render() const;

  private:
    struct Registry;
    std::unique_ptr<Registry> registry_;
};

} // namespace deadman::telemetry
