#include "deadman/scheduler/upkeep.h"

#include <algorithm>
#include <utility>

namespace deadman::scheduler {

Upkeep::Upkeep(store::UpkeepRequest request, UpkeepSurroundings surroundings)
    : request_(request), surroundings_(std::move(surroundings)) {}

void Upkeep::run(std::stop_token token) {
    const std::stop_callback on_stop(std::move(token), [this] { stop(); });
    base::Clock& clock = surroundings_.clock;
    std::unique_lock lock(mutex_);
    while (!stopped_) {
        lock.unlock();
        // From the step's start, so that a sweep that takes long does not stretch the gap between
        // ticks.
        const base::SteadyTime began = clock.steady_now();
        step();
        const base::SteadyTime next = began + pause();
        lock.lock();
        clock.wait_until(lock, changed_, next, [this] { return stopped_; });
    }
    lock.unlock();
    leadership_.reset();
}

void Upkeep::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
}

base::Duration Upkeep::pause() const {
    return leads() ? request_.terms.sweep : request_.terms.sweep / 2;
}

void Upkeep::step() {
    if (!leads())
        contend();
    if (leads())
        sweep();
}

void Upkeep::contend() {
    auto result = surroundings_.store.try_lead();
    if (!result) {
        tell_failure("try_lead", result.error());
        return;
    }
    failing_ = false;
    leadership_ = std::move(*result);
    if (leads() && surroundings_.log)
        surroundings_.log->info("upkeep_leads");
}

void Upkeep::sweep() {
    const auto report = leadership_->sweep(request_);
    if (!report) {
        // Whether it still leads is unknown; contending again finds out, and two leaders do no
        // harm.
        tell_failure("sweep", report.error());
        leadership_.reset();
        return;
    }
    failing_ = false;
    tell(*report);
    if (!report->still_leader)
        leadership_.reset();
}

void Upkeep::tell(const store::UpkeepReport& report) {
    if (surroundings_.on_sweep)
        surroundings_.on_sweep(report);
    telemetry::Log* log = surroundings_.log;
    if (!log)
        return;
    if (report.grace != std::exchange(in_grace_, report.grace))
        log->warn(report.grace ? "lease_grace_begins" : "lease_grace_ends");
    if (report.sessions_lapsed > 0 || report.runs_returned > 0)
        log->warn("sessions_lapsed",
                  {{"sessions", report.sessions_lapsed}, {"runs_returned", report.runs_returned}});
    if (report.quarantined > 0)
        log->error("jobs_quarantined", {{"jobs", report.quarantined}});
    if (!report.still_leader)
        log->info("upkeep_replaced");
}

// Once per outage: the worker and the server tell about the store as well.
void Upkeep::tell_failure(const char* call, const base::Error& error) {
    if (!std::exchange(failing_, true) && surroundings_.log)
        surroundings_.log->warn("upkeep_failed", {{"call", call}, {"error", error}});
}

} // namespace deadman::scheduler
