#include "apps/deadman/chaos/fleet.h"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <utility>

namespace deadman::chaos {
namespace {

// Exits with code 1 in a row: a worker that cannot even start will not start the next time.
constexpr int failures_to_give_up = 10;

} // namespace

Fleet::Fleet(std::vector<std::string> argv, int workers, base::Clock& clock)
    : argv_(std::move(argv)), workers_(workers), clock_(clock) {}

base::Status Fleet::tend() {
    for (auto process = processes_.begin(); process != processes_.end();) {
        const auto status = process->second.poll();
        if (!status) {
            ++process;
            continue;
        }
        bury(process->first, *status);
        process = processes_.erase(process);
    }
    if (failures_in_a_row_ >= failures_to_give_up)
        return base::fail(base::ErrorCode::unavailable, "workers cannot start: see above");
    while (std::ssize(processes_) < workers_)
        DEADMAN_TRY_STATUS(start_one());
    const base::TimePoint now = clock_.now();
    for (auto stop = stopped_.begin(); stop != stopped_.end();) {
        if (stop->second.at + stop->second.after > now) {
            ++stop;
            continue;
        }
        processes_.at(stop->first).resume_process();
        stop = stopped_.erase(stop);
    }
    return {};
}

base::Status Fleet::start_one() {
    platform::SpawnOptions options;
    options.argv = argv_;
    options.stdout_to = platform::StreamTo::null;
    DEADMAN_TRY(auto child, platform::ChildProcess::spawn(options));
    const int pid = child.pid();
    processes_.emplace(pid, std::move(child));
    return {};
}

void Fleet::bury(int pid, const platform::ExitStatus& status) {
    const auto kill = to_be_killed_.find(pid);
    const bool by_us = kill != to_be_killed_.end();
    losses_.deaths.push_back({pid, by_us ? kill->second : clock_.now()});
    if (by_us)
        to_be_killed_.erase(kill);
    stopped_.erase(pid);
    if (status.signal == SIGKILL) {
        ++losses_.killed;
        losses_.killed_by_us += by_us;
    } else {
        ++losses_.left;
    }
    failures_in_a_row_ = status.code == 1 ? failures_in_a_row_ + 1 : 0;
}

bool Fleet::kill_one(base::Random& random) {
    std::vector<int> candidates;
    for (const auto& [pid, process] : processes_)
        if (!is_stopped(pid) && !to_be_killed_.contains(pid))
            candidates.push_back(pid);
    if (candidates.empty())
        return false;
    const int pid = candidates[random.below(candidates.size())];
    to_be_killed_[pid] = clock_.now();
    processes_.at(pid).kill_group();
    return true;
}

void Fleet::stopped(int pid, base::TimePoint at, base::Duration after) {
    if (processes_.contains(pid))
        stopped_[pid] = {at, after};
}

void Fleet::wake_sooner(base::Duration after) {
    for (auto& [pid, stop] : stopped_)
        stop.after = std::min(stop.after, after);
}

int Fleet::stopped_now() const {
    return static_cast<int>(stopped_.size());
}

bool Fleet::is_running(int pid) const {
    return processes_.contains(pid) && !to_be_killed_.contains(pid);
}

bool Fleet::is_stopped(int pid) const {
    return stopped_.contains(pid);
}

int Fleet::running() const {
    return static_cast<int>(processes_.size() - to_be_killed_.size() - stopped_.size());
}

void Fleet::dismiss(base::Duration patience) {
    for (auto& [pid, process] : processes_) {
        process.resume_process();
        process.signal_process(SIGTERM);
    }
    const base::TimePoint end = clock_.now() + patience;
    for (auto& [pid, process] : processes_)
        process.wait(std::max(end - clock_.now(), base::Duration::zero()));
    processes_.clear();
    stopped_.clear();
}

} // namespace deadman::chaos
