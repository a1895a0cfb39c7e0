#include "apps/deadman/process_metrics.h"

namespace deadman::cli {
namespace {

namespace metric = telemetry::metric;

const char* answer_name(domain::AnswerKind kind) {
    switch (kind) {
    case domain::AnswerKind::succeeded:
        return "succeeded";
    case domain::AnswerKind::error:
        return "error";
    case domain::AnswerKind::failed:
        return "failed";
    case domain::AnswerKind::snooze:
        return "snooze";
    case domain::AnswerKind::release:
        return "release";
    case domain::AnswerKind::cancelled:
        return "cancelled";
    }
    return "other";
}

} // namespace

void ProcessMetrics::on_start(const store::Claimed& claimed) {
    const std::lock_guard lock(mutex_);
    started_[claimed.run] = clock_.steady_now();
}

void ProcessMetrics::before_answer(const store::Claimed& claimed,
                                   const domain::Answer& /*answer*/) {
    std::optional<base::Duration> took;
    {
        const std::lock_guard lock(mutex_);
        const auto found = started_.find(claimed.run);
        if (found == started_.end())
            return;
        took = clock_.steady_now() - found->second;
        started_.erase(found);
    }
    metrics_.histogram(metric::job_run_seconds, {{"kind", claimed.kind}}).observe(*took);
}

void ProcessMetrics::on_finish(const worker::Report& report) {
    const bool was_cancelled = report.verdict == domain::Verdict::cancelled;
    metrics_
        .counter(metric::job_attempts_total,
                 {{"outcome", was_cancelled ? "cancelled" : answer_name(report.answer)}})
        .increment();
}

void ProcessMetrics::on_lease_lost(const worker::Report& /*report*/) {
    metrics_.counter(metric::lease_lost_reports_total).increment();
}

void ProcessMetrics::on_sweep(const store::UpkeepReport& report) {
    metrics_.gauge(metric::leader).set(report.still_leader ? 1 : 0);
    metrics_.counter(metric::leases_expired_total).add(static_cast<double>(report.runs_returned));
}

} // namespace deadman::cli
