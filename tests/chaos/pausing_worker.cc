#include "tests/chaos/pausing_worker.h"

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "apps/deadman/chaos/journal.h"
#include "apps/deadman/chaos/probe.h"
#include "deadman/platform/process.h"
#include "deadman/telemetry/sinks.h"
#include "deadman/worker/worker.h"

namespace deadman::chaos_test {
namespace {

using chaos::Journal;
using chaos::Note;

template <typename T> T expect(base::Result<T> result) {
    if (!result)
        throw std::runtime_error(result.error().message);
    return std::move(*result);
}

domain::LeaseTerms terms() {
    return domain::LeaseTerms::scaled_to(lease);
}

std::string describe(const base::Error& error) {
    return std::string(base::error_code_name(error.code)) + ": " + error.message;
}

base::Status insert_effect(store::EffectTransaction& transaction, const store::RunKey& run) {
    DEADMAN_TRY_STATUS(transaction.execute(
        std::string("INSERT INTO ") + effects + " (job_id, fence) VALUES (" +
        std::to_string(run.job.value) + ", " + std::to_string(run.fence.value) + ")"));
    return {};
}

// The last of the runs to come here stops the process; the others wait for it, so that all are
// here.
class Gathering {
  public:
    Gathering(int runs, const Journal& journal) : missing_(runs), journal_(journal) {}

    void stop_here(const store::RunKey& run) {
        std::unique_lock lock(mutex_);
        if (--missing_ == 0) {
            journal_.write(Note::pauses, run);
            platform::stop_this_process();
            journal_.write(Note::wakes, run);
            all_here_.notify_all();
            return;
        }
        all_here_.wait(lock, [this] { return missing_ <= 0; });
    }

  private:
    std::mutex mutex_;
    std::condition_variable all_here_;
    int missing_;
    const Journal& journal_;
};

class PausingHandler {
  public:
    PausingHandler(const PausingWorkerOptions& options, const Journal& journal)
        : options_(options), journal_(journal), gathering_(options.runs, journal),
          probe_(expect(chaos::open_probe(options.store, queue))) {}

    domain::Answer operator()(worker::RunContext& context) {
        const store::RunKey run = context.claimed().run;
        journal_.write(Note::starts, run);
        // A kind that is not transactional is one that looks after its effect itself.
        return context.claimed().solo ? with_transaction(context, run) : with_own_guard(run);
    }

  private:
    void reach(Place place, const store::RunKey& run) {
        if (options_.place == place)
            gathering_.stop_here(run);
    }

    domain::Answer with_transaction(worker::RunContext& context, const store::RunKey& run) {
        reach(Place::in_handler, run);
        const base::Status done =
            context.transaction([&](store::EffectTransaction& transaction) -> base::Status {
                DEADMAN_TRY_STATUS(insert_effect(transaction, run));
                reach(Place::in_transaction, run);
                return {};
            });
        if (!done) {
            journal_.write(Note::refused, run, describe(done.error()));
            return {.kind = domain::AnswerKind::release,
                    .result = {},
                    .reason = "refused",
                    .message = {},
                    .delay = {}};
        }
        journal_.write(Note::effect, run);
        reach(Place::after_commit, run);
        return {};
    }

    domain::Answer with_own_guard(const store::RunKey& run) {
        const std::string job = std::to_string(run.job.value);
        const base::Status done = [&] {
            const std::lock_guard lock(mutex_);
            return probe_->execute(
                std::string("INSERT INTO ") + effects + " (job_id, fence) SELECT " + job + ", " +
                std::to_string(run.fence.value) + " WHERE NOT EXISTS (SELECT 1 FROM " + effects +
                " WHERE job_id = " + job + ")");
        }();
        if (!done)
            throw std::runtime_error(done.error().message);
        journal_.write(Note::effect, run);
        reach(Place::before_answer, run);
        return {};
    }

    const PausingWorkerOptions& options_;
    const Journal& journal_;
    Gathering gathering_;
    std::mutex mutex_;
    std::unique_ptr<chaos::Probe> probe_;
};

class Refusals final : public worker::WorkerObserver {
  public:
    explicit Refusals(const Journal& journal) : journal_(journal) {}

    void on_lease_lost(const worker::Report& report) override {
        journal_.write(Note::refused, report.run, "lease lost: " + report.detail);
    }

  private:
    const Journal& journal_;
};

void work(const PausingWorkerOptions& options, store::JobStore& store, const Journal& journal,
          base::Clock& clock) {
    const auto sink =
        expect(telemetry::make_file_sink(log_of(options.folder), telemetry::LogFormat::json));
    telemetry::Log log(clock, *sink, {.level = telemetry::Level::info, .burst = 0, .window = {}});
    auto handler = std::make_shared<PausingHandler>(options, journal);
    worker::HandlerRegistry handlers;
    handlers.add(kind, [handler](worker::RunContext& context) { return (*handler)(context); });
    worker::WorkerOptions settings;
    settings.name = options.place == Place::nowhere ? "steady" : "pausing";
    settings.pid = platform::current_pid();
    settings.queues = {queue};
    settings.slots = options.runs;
    settings.prefetch = 0;
    settings.terms = terms();
    Refusals refusals(journal);
    // It stays where a worker should leave: what its handlers try then has to be refused all the
    // same.
    worker::Worker worker(settings, std::move(handlers),
                          {.store = store,
                           .clock = clock,
                           .log = &log,
                           .observer = &refusals,
                           .leave_process = [](std::string_view) {}});
    worker.run();
}

void claim_and_end(const PausingWorkerOptions& options, store::JobStore& store,
                   const Journal& journal) {
    store::SessionSpec spec;
    spec.worker = "careless";
    spec.pid = platform::current_pid();
    spec.queues = {queue};
    spec.kinds = {kind};
    spec.slots = options.runs;
    spec.terms = terms();
    const store::Session session = expect(store.register_session(spec));
    std::vector<store::Claimed> claimed;
    for (std::int64_t claim_no = 1; std::ssize(claimed) < options.runs; ++claim_no) {
        const store::ClaimRequest request{.claim_no = claim_no,
                                          .queues = {queue},
                                          .max = options.runs - static_cast<int>(claimed.size()),
                                          .suspect = false};
        for (store::Claimed& one : expect(store.claim(session.key, request)))
            claimed.push_back(std::move(one));
    }
    journal.write(Note::pauses, claimed.front().run);
    platform::stop_this_process();
    journal.write(Note::wakes, claimed.front().run);
    for (std::size_t index = 0; index < claimed.size(); ++index) {
        const store::RunKey run = claimed[index].run;
        if (index % 2 == 0) {
            const store::RunEnd end{run, {}};
            const auto verdicts = store.complete(session.key, std::span(&end, 1));
            journal.write(verdicts && verdicts->front() != domain::Verdict::fenced ? Note::effect
                                                                                   : Note::refused,
                          run, verdicts ? domain::verdict_name(verdicts->front()) : "error");
            continue;
        }
        const base::Status done =
            store.transact(session.key, run, {}, [&](store::EffectTransaction& transaction) {
                return insert_effect(transaction, run);
            });
        journal.write(done ? Note::effect : Note::refused, run,
                      done ? std::string() : describe(done.error()));
    }
}

} // namespace

std::string journal_of(const std::string& folder) {
    return folder + "/journal";
}

std::string log_of(const std::string& folder) {
    return folder + "/log";
}

std::vector<std::string> command_line(const PausingWorkerOptions& options) {
    return {"--pausing-worker", options.store.text(), options.folder,
            std::to_string(static_cast<int>(options.place)), std::to_string(options.runs)};
}

std::optional<PausingWorkerOptions> parse_command_line(int argc, char** argv) {
    if (argc != 6 || std::string(argv[1]) != "--pausing-worker")
        return std::nullopt;
    return PausingWorkerOptions{.store = expect(parse_store_url(argv[2])),
                                .place = static_cast<Place>(std::stoi(argv[4])),
                                .runs = std::stoi(argv[5]),
                                .folder = argv[3]};
}

int be_pausing_worker(const PausingWorkerOptions& options) {
    try {
        base::SystemClock clock;
        const auto store = expect(open_store(options.store, clock));
        const Journal journal = expect(Journal::open(journal_of(options.folder), clock));
        if (options.place == Place::without_worker)
            claim_and_end(options, *store, journal);
        else
            work(options, *store, journal, clock);
        return 0;
    } catch (const std::exception& exception) {
        std::fprintf(stderr, "pausing worker: %s\n", exception.what());
        return 1;
    }
}

} // namespace deadman::chaos_test
