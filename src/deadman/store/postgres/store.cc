#include "deadman/store/postgres/internal/store.h"

#include <utility>

#include "deadman/store/postgres/internal/leader.h"

namespace deadman::store {

base::Result<std::unique_ptr<JobStore>> PostgresJobStore::open(base::Clock& clock,
                                                               const PostgresOptions& options) {
    DEADMAN_TRY_STATUS(postgres::check_url(options.url));
    std::unique_ptr<JobStore> store = std::make_unique<postgres::Store>(clock, options);
    return store;
}

} // namespace deadman::store

namespace deadman::store::postgres {

using base::ErrorCode;

namespace {

constexpr int most_repeats = 8;
constexpr base::Duration shortest_pause = std::chrono::milliseconds(2);

const Statement ask_now{"now", "select deadman.to_us(deadman.now())"};
const Statement raise_fence{"raise_fence", "select deadman.raise_fence()"};
const Statement announce_waiter{
    "announce",
    "insert into deadman.waiter(store, queues, until) "
    "values ($1, $2, clock_timestamp() + deadman.span($3)) "
    "on conflict (store) do update set queues = excluded.queues, until = excluded.until"};

/// Two: while one statement is being committed the next one is on its way.
constexpr int enqueues_at_once = 2;
constexpr std::size_t most_jobs_together = 1'000;

} // namespace

Store::Store(base::Clock& clock, const PostgresOptions& options)
    : clock_(clock), options_(options), settings_(options_, clock),
      pool_(clock, settings_, options.connections, options.acquire_timeout),
      effects_pool_(clock, settings_, options.effect_connections, options.acquire_timeout),
      enqueue_group_(
          [this](std::span<const EnqueueGroup::Specs> calls) { return enqueue_together(calls); },
          enqueues_at_once, most_jobs_together),
      random_(options.seed != 0 ? options.seed : base::random_seed()),
      listener_(
          clock, settings_, random_.next(),
          [this](const std::string& store, const std::string& queues, base::Duration life) {
              return query(announce_waiter, {store, queues, life.count()}, Sent::reading)
                  .has_value();
          },
          [this](int queue, std::int64_t ticket) {
              const std::lock_guard lock(mutex_);
              for (const auto& [id, link] : links_) {
                  const std::lock_guard link_lock(link->mutex);
                  link->cursors.lower(queue, ticket);
              }
          }) {}

Store::~Store() = default;

std::string_view Store::name() const {
    return "postgres";
}

base::SteadyTime Store::steady_now() const {
    const auto shift = settings_.shift ? settings_.shift->steady_us.load() : 0;
    if (settings_.shift && settings_.shift->stands_still)
        return base::SteadyTime(base::Duration{shift});
    return clock_.steady_now() + base::Duration{shift};
}

base::Result<base::TimePoint> Store::now() {
    DEADMAN_TRY(const pqxx::result answer, query(ask_now, {}, Sent::reading));
    return base::from_micros(answer[0][0].as<std::int64_t>());
}

base::Result<std::unique_ptr<Leadership>> Store::try_lead() {
    return Leader::try_lead(*this);
}

void Store::wait_for_work(std::span<const std::string> queues, base::Duration patience) {
    listener_.wait(queues, patience);
}

void Store::interrupt() {
    listener_.interrupt();
}

base::Result<pqxx::result> Store::query(const Statement& statement, const pqxx::params& parameters,
                                        Sent sent) {
    for (int attempt = 0;; ++attempt) {
        Failure failure;
        {
            DEADMAN_TRY(auto connection, pool_.acquire());
            try {
                return connection->query(statement, parameters);
            } catch (const std::exception& exception) {
                failure = translate_failure(exception, sent);
                if (failure.connection_lost)
                    connection.discard();
            }
        }
        if (!mend(failure, attempt))
            return std::move(failure.error);
    }
}

bool Store::mend(const Failure& failure, int attempt) {
    switch (failure.remedy) {
    case Remedy::none:
    case Remedy::own_lease: // transact does that
        return false;
    case Remedy::repeat:
        if (attempt >= most_repeats)
            return false;
        pause_before_repeat(attempt);
        return true;
    case Remedy::reconnect:
        return attempt == 0;
    case Remedy::make_partitions:
        return attempt == 0 && query(make_partitions_statement, {}, Sent::reading).has_value();
    case Remedy::raise_fence:
        return attempt == 0 && query(raise_fence, {}, Sent::reading).has_value();
    }
    return false;
}

void Store::pause_before_repeat(int attempt) {
    std::mutex own;
    std::condition_variable never;
    std::unique_lock lock(own);
    double share = 0;
    {
        const std::lock_guard random_lock(mutex_);
        share = 0.5 + random_.unit();
    }
    const auto pause =
        std::chrono::duration_cast<base::Duration>(shortest_pause * (1 << attempt) * share);
    clock_.wait_until(lock, never, clock_.steady_now() + pause, [] { return false; });
}

} // namespace deadman::store::postgres
