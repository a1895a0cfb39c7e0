#include "deadman/worker/internal/report_log.h"

namespace deadman::worker::internal {
namespace {

telemetry::Level level_of(ReportKind kind) {
    switch (kind) {
    case ReportKind::run_ended:
        return telemetry::Level::debug;
    case ReportKind::session_started:
    case ReportKind::session_ended:
    case ReportKind::orphan_adopted:
    case ReportKind::slot_regained:
    case ReportKind::drain_started:
        return telemetry::Level::info;
    default:
        return telemetry::Level::warn;
    }
}

} // namespace

void log_report(telemetry::Log& log, const Report& report) {
    const telemetry::Level level = level_of(report.kind);
    if (!log.enabled(level))
        return;
    telemetry::Fields fields;
    if (report.run.job.value != 0) {
        fields.emplace_back("job_id", report.run.job);
        fields.emplace_back("fence", report.run.fence);
    }
    if (report.kind == ReportKind::run_ended)
        fields.emplace_back("verdict", domain::verdict_name(report.verdict));
    if (!report.detail.empty())
        fields.emplace_back("reason", report.detail);
    log.write(level, report_kind_name(report.kind), std::move(fields));
}

} // namespace deadman::worker::internal
