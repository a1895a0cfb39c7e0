#pragma once
// The names of all metrics, each with its sentence: dashboards and alerts are checked against
// these.

#include <array>
#include <string_view>

namespace deadman::telemetry {

struct MetricName {
    std::string_view name;
    std::string_view help;
};

namespace metric {

inline constexpr MetricName jobs{"deadman_jobs", "Jobs by state and queue"};
inline constexpr MetricName jobs_enqueued_total{"deadman_jobs_enqueued_total", "Jobs accepted"};
inline constexpr MetricName jobs_finished_total{"deadman_jobs_finished_total",
                                                "Jobs that reached a terminal state, by outcome"};
inline constexpr MetricName job_attempts_total{"deadman_job_attempts_total",
                                               "Runs that ended, by outcome"};
inline constexpr MetricName job_wait_seconds{"deadman_job_wait_seconds",
                                             "From when a job could be claimed to its claim"};
inline constexpr MetricName job_run_seconds{"deadman_job_run_seconds",
                                            "From a run's start to its handler's answer"};
inline constexpr MetricName queue_oldest_waiting_seconds{
    "deadman_queue_oldest_waiting_seconds", "Age of the oldest claimable job of a queue"};
inline constexpr MetricName leases_active{"deadman_leases_active", "Leases that runs hold now"};
inline constexpr MetricName leases_expired_total{"deadman_leases_expired_total",
                                                 "Runs whose lease lapsed"};
inline constexpr MetricName lease_lost_reports_total{
    "deadman_lease_lost_reports_total", "Answers refused because the run had lost its lease"};
inline constexpr MetricName worker_slots{"deadman_worker_slots", "Slots of this worker by state"};
inline constexpr MetricName worker_heartbeat_age_seconds{
    "deadman_worker_heartbeat_age_seconds", "Time since the last acknowledged renewal"};
inline constexpr MetricName schedule_lateness_seconds{"deadman_schedule_lateness_seconds",
                                                      "How late scheduled jobs became claimable"};
inline constexpr MetricName store_op_seconds{"deadman_store_op_seconds",
                                             "Time of store calls by operation"};
inline constexpr MetricName store_errors_total{"deadman_store_errors_total",
                                               "Store calls that failed, by operation and code"};
inline constexpr MetricName dispatch_lag_seconds{"deadman_dispatch_lag_seconds",
                                                 "From a job's commit to its dispatch"};
inline constexpr MetricName http_requests_total{"deadman_http_requests_total",
                                                "API requests by route and status"};
inline constexpr MetricName http_request_seconds{"deadman_http_request_seconds",
                                                 "Time of API requests by route"};
inline constexpr MetricName leader{"deadman_leader", "1 where this process leads the upkeep"};
inline constexpr MetricName build_info{"deadman_build_info", "1, with the version as a label"};

inline constexpr std::array all{
    jobs,
    jobs_enqueued_total,
    jobs_finished_total,
    job_attempts_total,
    job_wait_seconds,
    job_run_seconds,
    queue_oldest_waiting_seconds,
    leases_active,
    leases_expired_total,
    lease_lost_reports_total,
    worker_slots,
    worker_heartbeat_age_seconds,
    schedule_lateness_seconds,
    store_op_seconds,
    store_errors_total,
    dispatch_lag_seconds,
    http_requests_total,
    http_request_seconds,
    leader,
    build_info,
};

} // namespace metric

} // namespace deadman::telemetry
