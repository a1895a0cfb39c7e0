#include "apps/deadman/bench/bench_worker.h"

#include <atomic>
#include <condition_variable>
#include <format>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "apps/deadman/bench/bench_jobs.h"
#include "apps/deadman/bench/samples.h"
#include "deadman/platform/process.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/worker/worker.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration tell_every = 5ms;
constexpr base::Duration snooze_for = 500ms;

/// Counts and tells.
class Teller final : public worker::WorkerObserver {
  public:
    Teller(base::Clock& clock, const WorkerBrief& brief, const Tell& tell)
        : clock_(clock), tell_starts_(brief.tell_starts), tell_returns_(brief.tell_returns),
          tell_(tell) {}

    void on_start(const store::Claimed& claimed) override {
        if (!started_.exchange(true))
            say(std::format("F {}", base::to_micros(clock_.now())));
        if (tell_returns_ && (claimed.attempts_spent > 0 || claimed.blame.lapse_score > 0))
            say(std::format("B {} {}", claimed.run.job.value, base::to_micros(clock_.now())));
        if (claimed.kind == noop_kind || claimed.kind == effect_kind)
            return;
        if (claimed.attempts_spent == 0)
            note_start(read_payload(claimed.payload));
    }

    void on_finish(const worker::Report& report) override {
        if (report.verdict == domain::Verdict::ok && report.answer == domain::AnswerKind::succeeded)
            ended_.fetch_add(1, std::memory_order_relaxed);
    }

    void on_report(const worker::Report& report) override {
        if (report.kind == worker::ReportKind::session_started)
            say("READY");
    }

    /// Until stop() counts are told.
    void watch() {
        std::unique_lock lock(mutex_);
        std::int64_t told = 0;
        while (!clock_.wait_until(lock, changed_, clock_.steady_now() + tell_every,
                                  [this] { return stopped_; })) {
            const std::int64_t ended = ended_.load(std::memory_order_relaxed);
            if (ended != told)
                tell_(std::format("H {} {}", ended, base::to_micros(clock_.now())));
            told = ended;
        }
    }

    void stop() {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }

    void tell_end() {
        const std::lock_guard lock(mutex_);
        const std::int64_t ended = ended_.load();
        const Spread spread = spread_of(std::move(delays_));
        tell_(std::format("H {} {}", ended, base::to_micros(clock_.now())));
        tell_(std::format(
            R"(L {{"ended":{},"rss_kb":{},"n":{},"p50":{},"p95":{},"p99":{},"max":{}}})", ended,
            peak_rss_kb(), spread.count, decimal(spread.p50_ms, 3), decimal(spread.p95_ms, 3),
            decimal(spread.p99_ms, 3), decimal(spread.max_ms, 3)));
    }

  private:
    void say(const std::string& line) {
        const std::lock_guard lock(mutex_);
        tell_(line);
    }

    void note_start(const BenchPayload& payload) {
        const std::int64_t now = base::to_micros(clock_.now());
        const std::lock_guard lock(mutex_);
        if (payload.sent_us > 0)
            delays_.emplace_back(now - payload.sent_us);
        if (tell_starts_ && payload.number >= 0)
            tell_(std::format("S {} {}", payload.number, now));
    }

    base::Clock& clock_;
    const bool tell_starts_;
    const bool tell_returns_;
    const Tell& tell_;
    std::atomic<bool> started_{false};
    std::atomic<std::int64_t> ended_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopped_ = false;               // guarded by mutex_
    std::vector<base::Duration> delays_; // guarded by mutex_
};

domain::Answer insert_effect(worker::RunContext& context, const std::string& insert) {
    const std::int64_t job = context.claimed().run.job.value;
    const base::Status done =
        context.transaction([&](store::EffectTransaction& transaction) -> base::Status {
            DEADMAN_TRY_STATUS(transaction.execute(insert, {store::SqlValue(job)}));
            return {};
        });
    if (done)
        return {};
    return {.kind = domain::AnswerKind::error, .reason = "error", .message = done.error().message};
}

domain::Answer take_turn(worker::RunContext& context) {
    const BenchPayload payload = read_payload(context.claimed().payload);
    if (payload.turn == Turn::retry && context.attempt() == 1)
        return {.kind = domain::AnswerKind::error,
                .reason = "error",
                .message = "first attempts fail",
                .delay = snooze_for};
    // A snooze spends no attempt, so that it is told by the time that has passed.
    if (payload.turn == Turn::snooze &&
        base::to_micros(context.claimed().claimed_at) < payload.sent_us + snooze_for.count() / 2)
        return {.kind = domain::AnswerKind::snooze, .delay = snooze_for};
    return {};
}

worker::HandlerRegistry make_handlers(const store::JobStore& store) {
    const std::string insert = std::format("insert into {}(job) values ({})", effect_table,
                                           store.name() == "postgres" ? "$1" : "?1");
    worker::HandlerRegistry handlers;
    handlers.add(noop_kind, [](worker::RunContext&) { return domain::Answer{}; });
    handlers.add(timed_kind, [](worker::RunContext&) { return domain::Answer{}; });
    handlers.add(effect_kind,
                 [insert](worker::RunContext& context) { return insert_effect(context, insert); });
    handlers.add(mixed_kind, take_turn);
    return handlers;
}

worker::WorkerOptions options_of(const WorkerBrief& brief) {
    worker::WorkerOptions options;
    options.name = "bench";
    options.host = platform::host_name();
    options.pid = platform::current_pid();
    options.version = DEADMAN_VERSION;
    options.queues = brief.queues;
    options.slots = brief.slots;
    options.prefetch = brief.prefetch;
    return options;
}

} // namespace

void run_bench_worker(store::JobStore& store, base::Clock& clock, const WorkerBrief& brief,
                      const Tell& tell, std::stop_token stop) {
    Teller teller(clock, brief, tell);
    worker::Worker worker(options_of(brief), make_handlers(store),
                          {.store = store,
                           .clock = clock,
                           .log = nullptr,
                           .observer = &teller,
                           .leave_process = nullptr});
    scheduler::Upkeep upkeep({}, {.store = store, .clock = clock});
    std::thread watch([&] { teller.watch(); });
    std::thread keep([&] {
        if (brief.upkeep)
            upkeep.run();
    });
    worker.run(std::move(stop));
    upkeep.stop();
    keep.join();
    teller.stop();
    watch.join();
    teller.tell_end();
}

std::int64_t peak_rss_kb() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") {
            std::int64_t kilobytes = 0;
            status >> kilobytes;
            return kilobytes;
        }
    return 0;
}

} // namespace deadman::bench
