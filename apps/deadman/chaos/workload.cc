#include "apps/deadman/chaos/workload.h"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include <yyjson.h>

#include "apps/deadman/chaos/file_hash.h"
#include "apps/deadman/chaos/internal/sql_session.h"
#include "apps/deadman/chaos/mortal.h"
#include "deadman/platform/process.h"

namespace deadman::chaos {
namespace {

constexpr int slowed = 4;

struct JobPayload {
    int number = 0;
    std::string path;
};

JobPayload read_payload(const std::string& json) {
    JobPayload payload;
    yyjson_doc* document = yyjson_read(json.data(), json.size(), 0);
    yyjson_val* root = yyjson_doc_get_root(document);
    payload.number = yyjson_get_int(yyjson_obj_get(root, "n"));
    if (const char* path = yyjson_get_str(yyjson_obj_get(root, "path")))
        payload.path = path;
    yyjson_doc_free(document);
    return payload;
}

// The row that a run leaves.
struct Effect {
    std::string columns;
    std::vector<store::SqlValue> values;
};

// Parameters as ?1, ?2 or $1, $2.
std::string insert_statement(const std::string& table, const Effect& effect, char mark) {
    std::string places;
    for (std::size_t index = 1; index <= effect.values.size(); ++index)
        places += (index > 1 ? ", " : "") + std::string(1, mark) + std::to_string(index);
    return "INSERT INTO " + table + " (" + effect.columns + ") VALUES (" + places + ")";
}

std::string quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text)
        quoted += c == '\'' ? std::string("''") : std::string(1, c);
    return quoted + "'";
}

std::string literal(const store::SqlValue& value) {
    if (const auto* number = std::get_if<std::int64_t>(&value))
        return std::to_string(*number);
    return quoted(std::get<std::string>(value));
}

// The double of the guard that lost: a mark in another store, set before the effect. A process that
// is killed between the two has marked what it never did, and the next run believes the mark.
class MarkedEffects {
  public:
    static base::Result<std::shared_ptr<MarkedEffects>> open(const WorkerBrief& brief) {
        auto made = std::make_shared<MarkedEffects>();
        DEADMAN_TRY(made->marks_, internal::open_sqlite_session(marks_path(brief.folder)));
        DEADMAN_TRY(made->effects_, internal::open_session(brief.store));
        return made;
    }

    /// False: somebody has marked it before.
    base::Result<bool> mark(domain::JobId job) {
        const std::lock_guard lock(mutex_);
        DEADMAN_TRY(const auto rows,
                    marks_->query("INSERT OR IGNORE INTO mark (job_id) VALUES (" +
                                  std::to_string(job.value) + ") RETURNING job_id"));
        return !rows.empty();
    }

    base::Status write(const std::string& table, const Effect& effect) {
        std::string values;
        for (const store::SqlValue& value : effect.values)
            values += (values.empty() ? "" : ", ") + literal(value);
        const std::lock_guard lock(mutex_);
        DEADMAN_TRY_STATUS(effects_->query("INSERT INTO " + table + " (" + effect.columns +
                                           ") VALUES (" + values + ")"));
        return {};
    }

  private:
    std::mutex mutex_;
    std::unique_ptr<internal::SqlSession> marks_;
    std::unique_ptr<internal::SqlSession> effects_;
};

domain::Answer hand_back(const base::Error& error) {
    return {.kind = domain::AnswerKind::release,
            .result = {},
            .reason = std::string(base::error_code_name(error.code)),
            .message = error.message,
            .delay = {}};
}

domain::Answer give_up(const base::Error& error) {
    domain::Answer answer = hand_back(error);
    answer.kind = domain::AnswerKind::failed;
    return answer;
}

class WorkloadHandler {
  public:
    WorkloadHandler(const WorkerBrief& brief, store::JobStore& store, const Journal& journal,
                    base::Clock& clock, std::shared_ptr<MarkedEffects> marked)
        : brief_(brief), store_(store), journal_(journal), clock_(clock),
          marked_(std::move(marked)) {}

    domain::Answer operator()(worker::RunContext& context) const {
        const store::RunKey run = context.claimed().run;
        journal_.write(Note::starts, run);
        const JobPayload payload = read_payload(context.claimed().payload);
        const auto runs = store_.runs(run.job);
        if (!runs)
            return hand_back(runs.error());
        const Fate fate = draw_fate(brief_.fates, payload.number, static_cast<int>(runs->size()));
        const Mortal mortal(fate, run, journal_, brief_.folder);

        const auto effect = effect_of(run, payload);
        if (!effect)
            return give_up(effect.error());
        wait(context.stop_token());
        mortal.reach(Stage::before_effect);
        const base::Status done = marked_ ? write_marked(run, *effect, mortal)
                                          : write_in_transaction(context, run, *effect, mortal);
        if (!done) {
            journal_.write(Note::refused, run, describe(done.error()));
            return hand_back(done.error());
        }
        journal_.write(Note::effect, run);
        mortal.reach(Stage::after_effect);
        return {};
    }

  private:
    base::Result<Effect> effect_of(const store::RunKey& run, const JobPayload& payload) const {
        const std::int64_t job = run.job.value;
        const std::int64_t fence = run.fence.value;
        if (brief_.workload == Workload::rows)
            return Effect{
                "job_id, fence, pid, at",
                {job, fence, std::int64_t{platform::current_pid()}, base::to_micros(clock_.now())}};
        DEADMAN_TRY(const std::string hash, sha256_of_file(payload.path));
        return Effect{"job_id, path, sha256, fence", {job, payload.path, hash, fence}};
    }

    // Where too few have died, work goes slower until they have.
    base::Duration pace() const {
        std::error_code ignored;
        const bool hurried = std::filesystem::exists(hurry_path(brief_.folder), ignored);
        return brief_.work * (hurried ? slowed : 1);
    }

    void wait(std::stop_token stop) const {
        std::mutex mutex;
        std::condition_variable stopped;
        const std::stop_callback wake(stop, [&] {
            const std::lock_guard lock(mutex);
            stopped.notify_all();
        });
        std::unique_lock lock(mutex);
        clock_.wait_until(lock, stopped, clock_.steady_now() + pace(),
                          [&stop] { return stop.stop_requested(); });
    }

    base::Status write_in_transaction(worker::RunContext& context, const store::RunKey& run,
                                      const Effect& effect, const Mortal& mortal) const {
        (void)run;
        const char mark = store_.name() == "postgres" ? '$' : '?';
        const std::string sql = insert_statement(effect_table(brief_.workload), effect, mark);
        return context.transaction([&](store::EffectTransaction& transaction) -> base::Status {
            DEADMAN_TRY_STATUS(transaction.execute(sql, std::span(effect.values)));
            mortal.reach(Stage::during_effect);
            return {};
        });
    }

    base::Status write_marked(const store::RunKey& run, const Effect& effect,
                              const Mortal& mortal) const {
        DEADMAN_TRY(const bool first, marked_->mark(run.job));
        if (!first) {
            journal_.write(Note::skips, run);
            return {};
        }
        mortal.reach(Stage::during_effect);
        return marked_->write(effect_table(brief_.workload), effect);
    }

    static std::string describe(const base::Error& error) {
        return std::string(base::error_code_name(error.code)) + ": " + error.message;
    }

    const WorkerBrief& brief_;
    store::JobStore& store_;
    const Journal& journal_;
    base::Clock& clock_;
    std::shared_ptr<MarkedEffects> marked_;
};

} // namespace

std::string_view workload_name(Workload workload) {
    return workload == Workload::rows ? "rows" : "sha256";
}

std::optional<Workload> parse_workload(std::string_view name) {
    for (const Workload workload : {Workload::rows, Workload::sha256})
        if (workload_name(workload) == name)
            return workload;
    return std::nullopt;
}

std::string workload_kind(Workload workload) {
    return workload == Workload::rows ? "chaos_row" : "sha256_file";
}

std::string effect_table(Workload workload) {
    return workload == Workload::rows ? "chaos_effect" : "sha256_effect";
}

std::string create_effect_table(Workload workload) {
    const std::string head = "CREATE TABLE IF NOT EXISTS " + effect_table(workload);
    if (workload == Workload::rows)
        return head + " (job_id BIGINT NOT NULL, fence BIGINT NOT NULL, pid BIGINT NOT NULL, "
                      "at BIGINT NOT NULL)";
    return head + " (job_id BIGINT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, "
                  "fence BIGINT NOT NULL)";
}

std::string_view guard_name(Guard guard) {
    return guard == Guard::transaction ? "transaction" : "two-stores";
}

std::optional<Guard> parse_guard(std::string_view name) {
    for (const Guard guard : {Guard::transaction, Guard::two_stores})
        if (guard_name(guard) == name)
            return guard;
    return std::nullopt;
}

std::string journal_path(const std::string& folder) {
    return folder + "/journal";
}

std::string spare_path(const std::string& folder) {
    return folder + "/spare";
}

std::string hurry_path(const std::string& folder) {
    return folder + "/hurry";
}

std::string marks_path(const std::string& folder) {
    return folder + "/marks.db";
}

std::string log_path(const std::string& folder) {
    return folder + "/workers.log";
}

base::Status prepare_marks(const std::string& folder) {
    DEADMAN_TRY(const auto session, internal::open_sqlite_session(marks_path(folder)));
    DEADMAN_TRY_STATUS(session->query("PRAGMA journal_mode = WAL"));
    DEADMAN_TRY_STATUS(session->query("CREATE TABLE mark (job_id INTEGER PRIMARY KEY)"));
    return {};
}

base::Result<worker::Handler> make_handler(const WorkerBrief& brief, store::JobStore& store,
                                           const Journal& journal, base::Clock& clock) {
    std::shared_ptr<MarkedEffects> marked;
    if (brief.guard == Guard::two_stores) {
        DEADMAN_TRY(marked, MarkedEffects::open(brief));
    }
    return worker::Handler(WorkloadHandler(brief, store, journal, clock, std::move(marked)));
}

} // namespace deadman::chaos
