#include "apps/deadman/chaos/harness.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "apps/deadman/chaos/chaos_worker.h"
#include "apps/deadman/chaos/fleet.h"
#include "apps/deadman/chaos/kill_control.h"
#include "apps/deadman/chaos/probe.h"
#include "deadman/scheduler/upkeep.h"
#include "deadman/telemetry/sinks.h"

namespace deadman::chaos {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration tick = 20ms;
constexpr base::Duration look_every = 40ms;
constexpr base::Duration dismissal = 5s;
constexpr std::size_t enqueue_batch = 500;
// So long, at every look, the write lock is taken: then its holder is stopped, not busy.
constexpr base::Duration block_from = 240ms;

// Fates kill for this part of the share; the rest comes from outside.
constexpr double share_by_fate = 0.6;
// When more is to be killed, each look does it with this chance: so the moment is a random one.
constexpr double kill_chance_per_look = 0.4;

// What a death takes is only a guess here, and the parent's kills make up for it: a worker's slots
// are mostly busy, and half of what it may claim ahead waits behind them.
double held_guess(const HarnessOptions& options) {
    return options.slots * 1.5;
}

WorkerBrief brief_for(const HarnessOptions& options) {
    WorkerBrief brief;
    brief.store = options.store;
    brief.queue = options.queue;
    brief.workload = options.workload;
    brief.guard = options.guard;
    brief.folder = options.folder;
    brief.fates = {.seed = options.seed,
                   .death = death_chance(options.kill_rate * share_by_fate, held_guess(options)),
                   .pauses = options.pauses,
                   .jobs = static_cast<int>(options.payloads.size())};
    brief.lease = options.lease;
    brief.slots = options.slots;
    brief.work = options.work;
    brief.max_crashes = options.max_crashes;
    return brief;
}

std::vector<std::string> worker_argv(const HarnessOptions& options) {
    std::vector<std::string> argv{options.worker_program, "chaos-worker"};
    for (std::string& argument : format_brief(brief_for(options)))
        argv.push_back(std::move(argument));
    return argv;
}

// Past the lease, and long enough for a sweep to see that; where the pause itself keeps everybody
// from sweeping there is nothing more to wait for.
base::Duration pause_length(const HarnessOptions& options, bool blocks_all) {
    const base::Duration sweep = lease_terms(options.lease).sweep;
    return options.lease + (blocks_all ? sweep / 4 : sweep * 2);
}

class Harness {
  public:
    Harness(const HarnessOptions& options, store::JobStore& store, Probe& probe, base::Clock& clock)
        : options_(options), store_(store), probe_(probe), clock_(clock),
          random_(options.seed ^ 0x6b696c6c), fleet_(worker_argv(options), options.workers, clock),
          reader_(journal_path(options.folder)) {}

    base::Result<Report> run(const std::function<void(const Progress&)>& on_progress,
                             const std::stop_token& stop) {
        DEADMAN_TRY_STATUS(probe_.execute(create_effect_table(options_.workload)));
        DEADMAN_TRY_STATUS(enqueue());
        started_ = clock_.steady_now();
        base::SteadyTime next_look = started_;
        while (!stop.stop_requested() && !timed_out()) {
            DEADMAN_TRY_STATUS(fleet_.tend());
            follow_journal();
            if (clock_.steady_now() >= next_look) {
                DEADMAN_TRY_STATUS(look());
                next_look = clock_.steady_now() + look_every;
                on_progress(progress());
                if (totals_.terminal >= jobs())
                    break;
            }
            rest();
        }
        const base::Duration elapsed = clock_.steady_now() - started_;
        fleet_.dismiss(dismissal);
        if (stop.stop_requested())
            return base::fail(base::ErrorCode::cancelled, "interrupted");
        follow_journal();
        return report(elapsed);
    }

  private:
    std::int64_t jobs() const {
        return std::ssize(options_.payloads);
    }

    bool timed_out() const {
        return clock_.steady_now() >= started_ + options_.time_limit;
    }

    void rest() {
        std::mutex mutex;
        std::condition_variable never;
        std::unique_lock lock(mutex);
        clock_.wait_until(lock, never, clock_.steady_now() + tick, [] { return false; });
    }

    base::Status enqueue() {
        std::vector<domain::JobSpec> specs;
        for (const std::string& payload : options_.payloads) {
            domain::JobSpec spec;
            spec.kind = workload_kind(options_.workload);
            spec.payload = payload;
            spec.queue = options_.queue;
            spec.transactional = options_.guard == Guard::transaction;
            specs.push_back(std::move(spec));
        }
        for (std::size_t from = 0; from < specs.size(); from += enqueue_batch) {
            const auto batch =
                std::span(specs).subspan(from, std::min(enqueue_batch, specs.size() - from));
            DEADMAN_TRY(const auto enqueued, store_.enqueue(batch));
            for (const store::Enqueued& one : enqueued)
                ids_.push_back(one.id.value);
        }
        return {};
    }

    // Wakes for the workers that stop themselves; the rest is for the report.
    void follow_journal() {
        for (JournalEntry& entry : reader_.read_new()) {
            if (entry.note == Note::pauses && fleet_.is_running(entry.pid))
                fleet_.stopped(entry.pid, entry.at, pause_length(options_, false));
            journal_.push_back(std::move(entry));
        }
    }

    // On SQLite a worker that is stopped inside a transaction, a handler's or its own, stops
    // everybody who wants to write. Who dies meanwhile is rescued when somebody can write again,
    // which would measure the pause and not the rescue; so nobody is killed then, and the pause
    // goes no further past its lease than it must. How long it was is told as blocked_ms.
    bool look_for_block() {
        const base::SteadyTime now = clock_.steady_now();
        const bool locked = (fleet_.stopped_now() > 0 || locked_since_) && probe_.is_write_locked();
        if (locked && !locked_since_)
            locked_since_ = now;
        const bool blocked = locked_since_ && now - *locked_since_ >= block_from;
        if (locked && blocked)
            fleet_.wake_sooner(pause_length(options_, true));
        if (!locked && blocked)
            blocked_ += now - *locked_since_;
        if (!locked)
            locked_since_.reset();
        return locked && blocked;
    }

    base::Status look() {
        DEADMAN_TRY(totals_, probe_.totals());
        DEADMAN_TRY(const auto sessions, probe_.sessions());
        RunCounts counts{.succeeded = totals_.succeeded,
                         .ended = totals_.ended_runs,
                         .lapsed = totals_.lapsed,
                         .doomed = 0,
                         .at_risk = 0,
                         .alive = fleet_.running()};
        for (const auto& [id, session] : sessions) {
            const bool lives = fleet_.is_running(session.pid) && !fleet_.is_stopped(session.pid);
            (lives ? counts.at_risk : counts.doomed) += session.held;
        }
        const bool blocked = look_for_block();
        mark(spare_path(options_.folder), blocked || !fates_armed(options_.kill_rate, counts));
        mark(hurry_path(options_.folder), fates_hurried(options_.kill_rate, counts));
        if (blocked)
            return {};
        for (int kills = kills_wanted(options_.kill_rate, jobs(), counts); kills > 0; --kills)
            if (random_.chance(kill_chance_per_look))
                fleet_.kill_one(random_);
        return {};
    }

    // A file that workers look for when a run's fate is due.
    void mark(const std::string& path, bool wanted) {
        if (wanted == marks_.contains(path))
            return;
        if (wanted) {
            std::ofstream(path).put('\n');
            marks_.insert(path);
        } else {
            std::filesystem::remove(path);
            marks_.erase(path);
        }
    }

    Progress progress() const {
        Progress progress;
        progress.jobs = jobs();
        progress.succeeded = totals_.succeeded;
        progress.lapsed = totals_.lapsed;
        progress.ended_runs = totals_.ended_runs;
        progress.kills = fleet_.losses().killed;
        progress.stopped = options_.workers - fleet_.running();
        progress.elapsed = clock_.steady_now() - started_;
        return progress;
    }

    base::Result<Report> report(base::Duration elapsed) {
        Report report;
        report.store = options_.store.redacted();
        report.guard = guard_name(options_.guard);
        report.seed = options_.seed;
        report.kill_rate = options_.kill_rate;
        report.lease = options_.lease;
        report.workers = options_.workers;
        report.slots = options_.slots;
        report.jobs = jobs();
        report.max_crashes = options_.max_crashes;
        report.elapsed = elapsed;
        DEADMAN_TRY(const auto ends, probe_.ends());
        DEADMAN_TRY(const auto effects, probe_.effects(effect_table(options_.workload)));
        report.verdict = judge(ids_, ends, effects);
        report.timed_out = std::ssize(ends) < jobs();
        DEADMAN_TRY_STATUS(set_unfinished_apart(ends, report));
        DEADMAN_TRY(totals_, probe_.totals());
        report.runs = totals_.ended_runs;
        report.lapsed = totals_.lapsed;
        report.released = totals_.released;
        report.kills = fleet_.losses().killed;
        report.kills_by_fate = report.kills - fleet_.losses().killed_by_us;
        report.exits = fleet_.losses().left;
        count_journal(report);
        DEADMAN_TRY(const auto runs, probe_.runs());
        DEADMAN_TRY(const auto sessions, probe_.sessions());
        report.timings = measure(runs, sessions, exact_deaths(), journal_);
        return report;
    }

    /// Out of time is not lost: what the store still has may end yet.
    base::Status set_unfinished_apart(const std::map<std::int64_t, JobEnd>& ends, Report& report) {
        std::vector<std::int64_t> lost;
        for (const std::int64_t id : report.verdict.lost) {
            DEADMAN_TRY(const auto job, store_.find({id}));
            if (ends.contains(id) || !job || domain::is_terminal(job->state))
                lost.push_back(id);
            else
                ++report.verdict.unfinished;
        }
        report.verdict.lost = std::move(lost);
        return {};
    }

    void count_journal(Report& report) const {
        std::set<store::RunKey> refused;
        for (const JournalEntry& entry : journal_) {
            if (entry.note == Note::refused)
                refused.insert(entry.run);
            if (entry.note == Note::pauses) {
                ++report.pauses;
                ++(entry.detail == stage_name(Stage::before_effect) ? report.pauses_in_handler
                   : entry.detail == stage_name(Stage::during_effect)
                       ? report.pauses_in_transaction
                       : report.pauses_before_answer);
            }
        }
        report.blocked = blocked_;
        report.fenced = std::ssize(refused);
    }

    // A worker that killed itself said when; of the others it is known to within a tick.
    std::vector<Death> exact_deaths() const {
        std::vector<Death> deaths = fleet_.losses().deaths;
        for (const JournalEntry& entry : journal_)
            if (entry.note == Note::dies)
                deaths.push_back({entry.pid, entry.at});
        return deaths;
    }

    const HarnessOptions& options_;
    store::JobStore& store_;
    Probe& probe_;
    base::Clock& clock_;
    base::Random random_;
    Fleet fleet_;
    JournalReader reader_;
    std::vector<JournalEntry> journal_;
    std::vector<std::int64_t> ids_;
    Totals totals_;
    std::set<std::string> marks_;
    std::optional<base::SteadyTime> locked_since_;
    base::Duration blocked_{};
    base::SteadyTime started_{};
};

} // namespace

base::Result<Report> run_harness(const HarnessOptions& options,
                                 const std::function<void(const Progress&)>& on_progress,
                                 const std::stop_token& stop) {
    base::SystemClock clock;
    DEADMAN_TRY(const auto sink,
                telemetry::make_file_sink(log_path(options.folder), telemetry::LogFormat::json));
    telemetry::Log log(clock, *sink, {.level = telemetry::Level::info, .burst = 0, .window = {}});
    DEADMAN_TRY(const auto store, open_store(options.store, clock));
    DEADMAN_TRY_STATUS(store->migrate());
    DEADMAN_TRY(const auto probe, open_probe(options.store, options.queue));
    if (options.guard == Guard::two_stores)
        DEADMAN_TRY_STATUS(prepare_marks(options.folder));
    scheduler::Upkeep upkeep(upkeep_request(options.lease, options.max_crashes),
                             {.store = *store, .clock = clock, .log = &log, .on_sweep = nullptr});
    const std::jthread sweeping([&upkeep](std::stop_token token) { upkeep.run(std::move(token)); });
    Harness harness(options, *store, *probe, clock);
    return harness.run(on_progress, stop);
}

} // namespace deadman::chaos
