#include "apps/deadman/bench/worker_group.h"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <format>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "apps/deadman/bench/part.h"
#include "deadman/platform/process.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;
using base::ErrorCode;

constexpr base::Duration look_every = 5ms;
constexpr base::Duration patience = 60s; // without anything moving
constexpr base::Duration drain_patience = 40s;

} // namespace

base::Duration GroupReport::duration() const {
    if (history.empty() || first_start_us == 0)
        return {};
    // The last line repeats the count at the end: when it was first reached is what counts.
    const auto reached = std::find_if(history.begin(), history.end(), [this](const Point& point) {
        return point.ended == ended();
    });
    return base::Duration{reached->at_us - first_start_us};
}

class WorkerGroup::Member {
  public:
    explicit Member(std::string file) : path_(std::move(file)) {}

    ~Member() {
        ask_to_leave();
        if (thread_.joinable())
            thread_.join();
    }

    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    base::Status start_process(const BenchTarget& target, const WorkerBrief& brief) {
        DEADMAN_TRY(process_, spawn_part(worker_arguments(target.url(), brief, path_)));
        return {};
    }

    void start_thread(BenchTarget& target, base::Clock& clock, const WorkerBrief& brief) {
        thread_ = std::thread([this, &target, &clock, brief] {
            std::ofstream file(path_);
            const Tell tell = [&](std::string_view line) {
                file << line << '\n';
                file.flush();
            };
            run_bench_worker(target.store(), clock, brief, tell, stop_.get_token());
        });
    }

    void ask_to_leave() {
        stop_.request_stop();
        if (process_)
            process_->close_stdin();
    }

    bool has_died() {
        return process_ && process_->poll().has_value();
    }

    /// The lines that are complete by now and were not read before.
    std::vector<std::string> new_lines() {
        std::vector<std::string> lines;
        if (!file_.is_open())
            file_.open(path_);
        if (!file_.is_open())
            return lines;
        file_.clear();
        file_.seekg(read_);
        for (std::string line; std::getline(file_, line) && !file_.eof();) {
            read_ += static_cast<std::streamoff>(line.size()) + 1;
            lines.push_back(std::move(line));
        }
        return lines;
    }

    bool finished = false;

  private:
    const std::string path_;
    std::ifstream file_;
    std::streamoff read_ = 0;
    std::optional<platform::ChildProcess> process_;
    std::stop_source stop_;
    std::thread thread_;
};

WorkerGroup::WorkerGroup(base::Clock& clock, platform::TemporaryDirectory folder)
    : clock_(clock), folder_(std::move(folder)) {}

WorkerGroup::~WorkerGroup() {
    for (const auto& member : members_)
        member->ask_to_leave();
}

base::Result<std::unique_ptr<WorkerGroup>>
WorkerGroup::start(BenchTarget& target, base::Clock& clock, const WorkerBrief& brief, int workers) {
    DEADMAN_TRY(auto folder, platform::TemporaryDirectory::create("deadman-bench"));
    std::unique_ptr<WorkerGroup> group(new WorkerGroup(clock, std::move(folder)));
    for (int index = 0; index < workers; ++index) {
        auto member =
            std::make_unique<Member>(std::format("{}/worker-{}", group->folder_.path(), index));
        if (target.is_private())
            member->start_thread(target, clock, brief);
        else
            DEADMAN_TRY_STATUS(member->start_process(target, brief));
        group->members_.push_back(std::move(member));
        group->ended_.push_back(0);
    }
    return group;
}

void WorkerGroup::take(std::size_t member, const std::string& line) {
    std::istringstream words(line);
    std::string what;
    std::int64_t first = 0;
    std::int64_t second = 0;
    words >> what;
    if (what == "READY") {
        ++report_.ready;
    } else if (what == "F" && words >> first) {
        if (report_.first_start_us == 0 || first < report_.first_start_us)
            report_.first_start_us = first;
    } else if (what == "S" && words >> first >> second) {
        report_.starts_us.emplace(first, second);
    } else if (what == "B" && words >> first >> second) {
        report_.returns_us.emplace(first, second);
    } else if (what == "H" && words >> first >> second) {
        const std::int64_t all = report_.ended() + first - ended_[member];
        ended_[member] = first;
        report_.history.push_back({.at_us = second, .ended = all});
    } else if (what == "L") {
        ++report_.finished;
        members_[member]->finished = true;
        constexpr std::string_view name = R"("rss_kb":)";
        if (const std::size_t at = line.find(name); at != std::string::npos)
            report_.peak_rss_kb = std::max<std::int64_t>(
                report_.peak_rss_kb, std::strtoll(line.c_str() + at + name.size(), nullptr, 10));
    }
}

void WorkerGroup::read(std::size_t member) {
    for (const std::string& line : members_[member]->new_lines())
        take(member, line);
}

const GroupReport& WorkerGroup::look() {
    for (std::size_t member = 0; member < members_.size(); ++member)
        read(member);
    return report_;
}

base::Status WorkerGroup::await(const std::function<bool()>& done) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    base::SteadyTime moved = clock_.steady_now();
    for (std::size_t lines = 0;;) {
        look();
        if (done())
            return {};
        const std::size_t lines_now =
            report_.history.size() + static_cast<std::size_t>(report_.ready + report_.finished);
        const base::SteadyTime now = clock_.steady_now();
        if (lines_now != lines)
            moved = now;
        lines = lines_now;
        for (const auto& member : members_)
            if (!member->finished && member->has_died()) {
                look();
                if (!member->finished)
                    return base::fail(ErrorCode::unavailable, "a worker of the benchmark died");
            }
        if (now - moved > patience)
            return base::fail(
                ErrorCode::internal,
                std::format("{} runs ended, then none for a minute", report_.ended()));
        clock_.wait_until(lock, never, now + look_every, [] { return false; });
    }
}

base::Status WorkerGroup::wait_until_ready() {
    return await([this] { return report_.ready >= static_cast<int>(members_.size()); });
}

base::Status WorkerGroup::wait_for(std::int64_t ended,
                                   const std::function<void(std::int64_t)>& show) {
    return await([&] {
        show(report_.ended());
        return report_.ended() >= ended;
    });
}

base::Result<GroupReport> WorkerGroup::finish() {
    for (const auto& member : members_)
        member->ask_to_leave();
    const base::SteadyTime deadline = clock_.steady_now() + drain_patience;
    DEADMAN_TRY_STATUS(await([&] {
        return report_.finished == static_cast<int>(members_.size()) ||
               clock_.steady_now() > deadline;
    }));
    if (report_.finished < static_cast<int>(members_.size()))
        return base::fail(ErrorCode::internal, "a worker of the benchmark does not leave");
    return report_;
}

} // namespace deadman::bench
