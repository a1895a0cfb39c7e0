#pragma once
// A Worker with real threads over the in-memory store, an observer that tests wait on, and upkeep.

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "deadman/base/clock.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/store/memory/memory_job_store.h"
#include "deadman/worker/worker.h"
#include "tests/integration/worker_store_tap.h"

namespace deadman::worker::testing {

using namespace std::chrono_literals;

/// Counts starts, keeps reports, and wakes whoever waits for them.
class RecordingObserver final : public WorkerObserver {
  public:
    void on_start(const store::Claimed& claimed) override {
        const std::lock_guard lock(mutex_);
        ++starts_[claimed.run.job];
        changed_.notify_all();
    }

    void on_report(const Report& report) override {
        const std::lock_guard lock(mutex_);
        reports_.push_back(report);
        changed_.notify_all();
    }

    int starts(domain::JobId job) const {
        const std::lock_guard lock(mutex_);
        const auto found = starts_.find(job);
        return found == starts_.end() ? 0 : found->second;
    }

    int total_starts() const {
        const std::lock_guard lock(mutex_);
        int total = 0;
        for (const auto& [job, count] : starts_)
            total += count;
        return total;
    }

    std::vector<Report> reports(ReportKind kind) const {
        const std::lock_guard lock(mutex_);
        std::vector<Report> found;
        for (const Report& report : reports_)
            if (report.kind == kind)
                found.push_back(report);
        return found;
    }

    std::size_t count(ReportKind kind) const {
        return reports(kind).size();
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<domain::JobId, int> starts_;
    std::vector<Report> reports_;
};

/// A gate that handlers wait at and tests open.
class Gate {
  public:
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

    void pass() {
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return open_; });
    }

    int waiting() const {
        const std::lock_guard lock(mutex_);
        return waiting_;
    }

    /// As pass(), and also over when the token fires. True where the gate was open.
    bool pass(const std::stop_token& token) {
        std::stop_callback wake(token, [this] {
            const std::lock_guard lock(mutex_);
            changed_.notify_all();
        });
        std::unique_lock lock(mutex_);
        ++waiting_;
        changed_.notify_all();
        changed_.wait(lock, [&] { return open_ || token.stop_requested(); });
        return open_;
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
    int waiting_ = 0;
};

/// A worker and the thread that runs it.
class RunningWorker {
  public:
    RunningWorker(WorkerOptions options, HandlerRegistry handlers, store::JobStore& store,
                  base::Clock& clock)
        : worker_(std::move(options), std::move(handlers),
                  {.store = store,
                   .clock = clock,
                   .observer = &observer,
                   .leave_process = [this](std::string_view why) { left_because(why); }}),
          ended_(promise_.get_future()), thread_([this] {
              worker_.run();
              promise_.set_value();
          }) {}

    ~RunningWorker() {
        worker_.force();
    }

    Worker& worker() {
        return worker_;
    }

    void drain() {
        worker_.drain();
    }

    void force() {
        worker_.force();
    }

    bool ends_within(std::chrono::milliseconds patience) {
        return ended_.wait_for(patience) == std::future_status::ready;
    }

    std::string left() const {
        const std::lock_guard lock(mutex_);
        return left_;
    }

    RecordingObserver observer;

  private:
    void left_because(std::string_view why) {
        const std::lock_guard lock(mutex_);
        left_ = why;
    }

    mutable std::mutex mutex_;
    std::string left_;
    Worker worker_;
    std::promise<void> promise_;
    std::future<void> ended_;
    std::jthread thread_;
};

/// Looks every two milliseconds, for half a minute of real time at most.
inline bool look_again_until(const std::function<bool()>& predicate) {
    const base::SystemClock real;
    const base::SteadyTime deadline = real.steady_now() + 30s;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    while (!predicate()) {
        if (real.steady_now() > deadline)
            return false;
        never.wait_for(lock, 2ms);
    }
    return true;
}

class WorkerFixture : public ::testing::Test {
  protected:
    static WorkerOptions options(int slots = 2, int prefetch = 4) {
        WorkerOptions options;
        options.name = "w";
        options.slots = slots;
        options.prefetch = prefetch;
        options.terms.heartbeat = 100ms; // the lease is long: a busy machine must not end it
        options.seed = 7;
        return options;
    }

    static domain::JobSpec job(std::string kind) {
        domain::JobSpec spec;
        spec.kind = std::move(kind);
        spec.retry.base = 1ms;
        spec.retry.cap = 10ms;
        return spec;
    }

    domain::JobId enqueue(const domain::JobSpec& spec) {
        const auto made = store.enqueue({&spec, 1});
        EXPECT_TRUE(made) << made.error().message;
        return made->at(0).id;
    }

    store::JobRecord find(domain::JobId id) {
        auto found = store.find(id);
        EXPECT_TRUE(found && *found);
        return **found;
    }

    domain::JobState state(domain::JobId id) {
        return find(id).state;
    }

    void start_upkeep() {
        store::UpkeepRequest request;
        request.terms = options().terms;
        request.terms.sweep = 50ms;
        upkeep_ = std::make_unique<scheduler::Upkeep>(
            request, scheduler::UpkeepSurroundings{.store = store, .clock = clock});
        upkeep_thread_ = std::jthread([this] { upkeep_->run(); });
    }

    ~WorkerFixture() override {
        if (upkeep_)
            upkeep_->stop();
    }

    /// For what no signal tells.
    bool eventually(const std::function<bool()>& predicate) {
        return look_again_until(predicate);
    }

    bool all_finished() {
        const auto outstanding = store.count_outstanding();
        return outstanding && *outstanding == 0;
    }

    base::SystemClock clock;
    store::MemoryJobStore store{clock};
    StoreTap tap{store};

  private:
    std::unique_ptr<scheduler::Upkeep> upkeep_;
    std::jthread upkeep_thread_;
};

} // namespace deadman::worker::testing
