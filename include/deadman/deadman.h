#pragma once
// libdeadman: enqueue jobs and run them inside your own process.
//
// Contract:      an accepted job is never lost; an effect written in Run::transaction happens once,
//                whatever is killed when. Effects elsewhere may repeat: give them
//                Run::idempotency_key.
// Thread-safety: Store and Worker are safe for concurrent use. A Run belongs to its handler's
// thread,
//                but for stop_token(), which may be handed on.
// Blocking:      every method may wait for the database; never call on an event loop.
// Ownership:     a Store is a handle: copies share one connection pool. Handlers are copied in.
// Errors:        methods throw deadman::Error; handlers may throw anything: that attempt has
// failed. Source:        docs/ARCHITECTURE.md.

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#if defined(_WIN32)
#if defined(DEADMAN_BUILDING_LIBRARY)
#define DEADMAN_EXPORT __declspec(dllexport)
#else
#define DEADMAN_EXPORT __declspec(dllimport)
#endif
#else
#define DEADMAN_EXPORT __attribute__((visibility("default")))
#endif

namespace deadman {

using Duration = std::chrono::microseconds;
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

enum class ErrorCode {
    invalid_argument,
    not_found,
    already_exists,
    conflict,
    fenced,      // this process no longer owns the run: stop working on it
    unavailable, // nothing happened: the same call may be repeated
    exhausted,
    cancelled,
    outcome_unknown, // it may have happened: look before repeating
    internal,
};

class DEADMAN_EXPORT Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& message);

    ErrorCode code() const noexcept;

  private:
    ErrorCode code_;
};

/// What to run, and when.
struct Job {
    std::string kind;
    std::string payload = "{}"; // UTF-8 JSON, carried byte for byte
    std::string queue = "default";
    int priority = 5; // 0 to 9, lower first
    std::optional<Duration> delay{};
    int max_attempts = 20;
    Duration timeout = std::chrono::minutes(5);
    bool transactional = true;     // may call Run::transaction
    std::string unique_key{};      // at most one unfinished job per key
    std::string idempotency_key{}; // repeating the enqueue gives the first one's id
};

/// A bound parameter or a column: null, integer, real, text.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;
using Row = std::vector<Value>;

/// The database transaction in which a run ends.
class DEADMAN_EXPORT Transaction {
  public:
    virtual ~Transaction();

    /// One statement with bound parameters: ?1, ?2 on SQLite, $1, $2 on Postgres.
    virtual std::vector<Row> execute(std::string_view sql,
                                     const std::vector<Value>& parameters = {}) = 0;
};

/// One run of one job, as its handler sees it.
class DEADMAN_EXPORT Run {
  public:
    virtual ~Run();

    virtual std::int64_t job_id() const = 0;
    virtual std::int64_t fence() const = 0;
    virtual int attempt() const = 0;
    virtual const std::string& payload() const = 0;

    /// The same for every run of the job: hand it to whoever performs an effect elsewhere.
    virtual std::string idempotency_key() const = 0;

    /// The key of this run for deadman.guard(job, fence, key) and deadman.complete(job, fence, key,
    /// result), where the effect is written over a connection of your own (Postgres).
    virtual std::string key() const = 0;

    /// Fires when the run must stop; what is done after it is not recorded.
    virtual std::stop_token stop_token() const = 0;

    /// Commits what `body` writes together with the success of this run: both or neither.
    virtual void transaction(const std::function<void(Transaction&)>& body) = 0;

    /// Instead of returning: run again after `delay`, spending no attempt.
    [[noreturn]] virtual void snooze(Duration delay) = 0;

    /// Instead of returning: fail for good, whatever attempts are left.
    [[noreturn]] virtual void fail(const std::string& message) = 0;

    virtual void progress(int percent, const std::string& note) = 0;

    /// JSON kept as the job's result when the handler returns.
    virtual void set_result(std::string json) = 0;
};

using Handler = std::function<void(Run&)>;

enum class JobState {
    waiting,
    scheduled,
    pending,
    running,
    succeeded,
    failed,
    cancelled,
    expired,
};

class DEADMAN_EXPORT Store {
  public:
    /// "sqlite:PATH", "postgresql://..." or "memory:". Creates or migrates the schema.
    static Store open(const std::string& url);

    std::int64_t enqueue(const Job& job);

    /// All or none.
    std::vector<std::int64_t> enqueue(const std::vector<Job>& jobs);

    /// Nothing where the job is unknown.
    std::optional<JobState> state(std::int64_t job_id);

    /// Waits until the job has ended; nothing when `patience` passed first.
    std::optional<JobState> wait(std::int64_t job_id, Duration patience);

    /// True: it will not run, or its run has been asked to stop and will not count.
    bool cancel(std::int64_t job_id);

    /// Jobs that have not ended, in one observation.
    std::int64_t count_outstanding();

  private:
    friend class Worker;
    struct State;
    explicit Store(std::shared_ptr<State> state);

    std::shared_ptr<State> state_;
};

struct WorkerOptions {
    std::string name = "embedded";
    std::vector<std::string> queues{"default"};
    int slots = 0; // runs at once; 0: two per core
    Duration drain_grace = std::chrono::seconds(30);
};

class DEADMAN_EXPORT Worker {
  public:
    explicit Worker(Store store, WorkerOptions options = {});

    /// Drains, if that has not happened yet.
    ~Worker();

    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// REQUIRES: start() has not been called.
    void handle(std::string kind, Handler handler);

    void start();

    /// Stops claiming, hands back what has not started, waits for the rest up to the grace.
    void drain();

  private:
    struct State;

    std::unique_ptr<State> state_;
};

} // namespace deadman
