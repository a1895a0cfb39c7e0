#include "tests/sim/sim_checker.h"

#include <algorithm>
#include <utility>

namespace deadman::sim {
namespace {

std::string name_of(domain::JobId job) {
    return "job " + std::to_string(job.value);
}

} // namespace

SimChecker::SimChecker(store::MemoryJobStore& truth, const MutantStore& effects, int max_crashes)
    : truth_(truth), effects_(effects), max_crashes_(max_crashes) {}

void SimChecker::complain(std::string what) {
    if (violation_.empty())
        violation_ = std::move(what);
}

void SimChecker::accepted(domain::JobId job, const domain::JobSpec& spec) {
    ledger_[job].spec = spec;
}

void SimChecker::cancel_accepted(domain::JobId job) {
    ledger_.at(job).cancel_accepted = true;
}

void SimChecker::retried(domain::JobId job) {
    Entry& entry = ledger_.at(job);
    entry.retry_accepted = true;
    entry.cancel_accepted = false;
}

void SimChecker::started(const store::RunKey& run) {
    if (!ledger_.at(run.job).started.insert(run.fence).second)
        complain("I4: one run of " + name_of(run.job) + " was started twice");
    const auto runs = truth_.runs(run.job).value();
    const bool recorded =
        std::any_of(runs.begin(), runs.end(),
                    [&](const store::RunRecord& record) { return record.fence == run.fence; });
    if (!recorded)
        complain("I4: a start of " + name_of(run.job) + " is on no record");
}

std::set<domain::SessionId> SimChecker::live_sessions() {
    std::set<domain::SessionId> live;
    const auto sessions = truth_.sessions().value();
    for (const store::SessionRecord& session : sessions)
        if (!session.ended_at)
            live.insert(session.id);
    return live;
}

void SimChecker::check_store() {
    const auto live = live_sessions();
    const auto effects = effects_.effects();
    store::JobFilter filter;
    filter.limit = 1'000;
    const auto page = truth_.list(filter).value();
    std::set<domain::JobId> seen;
    std::int64_t outstanding = 0;
    for (const store::JobRecord& job : page.jobs) {
        const auto entry = ledger_.find(job.id);
        if (entry == ledger_.end() || !seen.insert(job.id).second) {
            complain("I1: " + name_of(job.id) + " is there twice, or nobody enqueued it");
            continue;
        }
        const auto written = effects.find(job.id);
        check_job(entry->second, job, live, written == effects.end() ? 0 : written->second);
        outstanding += domain::is_terminal(job.state) ? 0 : 1;
    }
    for (const auto& [id, entry] : ledger_)
        if (!seen.contains(id))
            complain("I1: " + name_of(id) + " has vanished");
    if (truth_.count_outstanding().value() != outstanding)
        complain("I1: count_outstanding() does not agree with the jobs");
    all_terminal_ = outstanding == 0;
}

void SimChecker::check_job(Entry& entry, const store::JobRecord& now,
                           const std::set<domain::SessionId>& live, int effects) {
    const std::string name = name_of(now.id);
    const bool retried = std::exchange(entry.retry_accepted, false);
    if (now.state == domain::JobState::running && (!now.session || !live.contains(*now.session)))
        complain("I1: " + name + " runs under a session that has ended");
    if (entry.seen && !retried && domain::is_terminal(entry.last.state) &&
        (now.state != entry.last.state || now.finished_at != entry.last.finished_at ||
         now.fence != entry.last.fence || now.result != entry.last.result))
        complain("I2: " + name + " was " + std::string(domain::job_state_name(entry.last.state)) +
                 " and has changed");
    if (now.attempts_spent > now.max_attempts || now.blame.crashes > max_crashes_)
        complain("I4: " + name + " has started more often than its limits allow");
    if (effects > 1)
        complain("effects: " + name + " took effect " + std::to_string(effects) + " times");
    if (now.transactional && (effects == 1) != (now.state == domain::JobState::succeeded))
        complain("effects: " + name + " is " + std::string(domain::job_state_name(now.state)) +
                 " with " + std::to_string(effects) + " effects");
    entry.last = now;
    entry.seen = true;
}

void SimChecker::check_nodes(const std::vector<NodeView>& nodes) {
    std::set<domain::JobId> run_by_somebody;
    for (const NodeView& node : nodes) {
        if (node.running > node.slots || node.buffered > 2 * node.whole ||
            node.held > 3 * node.whole)
            complain("I7: a worker holds more than its bounds allow");
        if (!node.acts)
            continue;
        for (const domain::JobId job : node.believes_to_run)
            if (!run_by_somebody.insert(job).second)
                complain("I5: two workers believe to hold " + name_of(job));
    }
}

void SimChecker::check_end() {
    check_store();
    for (const auto& [id, entry] : ledger_) {
        if (!domain::is_terminal(entry.last.state))
            complain("I1: " + name_of(id) + " is still " +
                     std::string(domain::job_state_name(entry.last.state)) + " long after");
        if (entry.cancel_accepted && entry.last.state != domain::JobState::cancelled)
            complain("cancel: " + name_of(id) + " was cancelled and is " +
                     std::string(domain::job_state_name(entry.last.state)));
    }
}

} // namespace deadman::sim
