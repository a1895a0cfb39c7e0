#include "deadman/worker/worker_action.h"

namespace deadman::worker {

std::string_view stop_why_name(StopWhy why) {
    switch (why) {
    case StopWhy::cancelled:
        return "cancelled";
    case StopWhy::timeout:
        return "timeout";
    case StopWhy::lease_uncertain:
        return "lease_uncertain";
    case StopWhy::drain:
        return "drain";
    }
    return "?";
}

std::string_view report_kind_name(ReportKind kind) {
    switch (kind) {
    case ReportKind::session_started:
        return "session_started";
    case ReportKind::session_lost:
        return "session_lost";
    case ReportKind::session_ended:
        return "session_ended";
    case ReportKind::lease_uncertain:
        return "lease_uncertain";
    case ReportKind::run_ended:
        return "run_ended";
    case ReportKind::lease_lost:
        return "lease_lost";
    case ReportKind::run_abandoned:
        return "run_abandoned";
    case ReportKind::slot_regained:
        return "slot_regained";
    case ReportKind::orphan_adopted:
        return "orphan_adopted";
    case ReportKind::call_failed:
        return "call_failed";
    case ReportKind::drain_started:
        return "drain_started";
    case ReportKind::drain_forced:
        return "drain_forced";
    }
    return "?";
}

} // namespace deadman::worker
