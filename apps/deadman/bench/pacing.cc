#include "apps/deadman/bench/pacing.h"

#include "apps/deadman/bench/internal/sql_session.h"

namespace deadman::bench {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration probe_every = 50ms;
constexpr const char* make_table = "create table if not exists bench_commit(n int)";
constexpr const char* drop_table = "drop table if exists bench_commit";

} // namespace

void pause_until(base::Clock& clock, base::SteadyTime moment) {
    if (clock.steady_now() >= moment)
        return;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    clock.wait_until(lock, never, moment, [] { return false; });
}

CommitProbe::CommitProbe(const BenchTarget& target, base::Clock& clock)
    : target_(target), clock_(clock) {}

base::Result<std::unique_ptr<CommitProbe>> CommitProbe::start(const BenchTarget& target,
                                                              base::Clock& clock) {
    std::unique_ptr<CommitProbe> probe(new CommitProbe(target, clock));
    if (target.is_private())
        return probe;
    DEADMAN_TRY(const auto sql, internal::open_sql_session(target.url()));
    DEADMAN_TRY_STATUS(sql->run(make_table));
    probe->thread_ = std::thread([raw = probe.get()] { raw->run(); });
    return probe;
}

CommitProbe::~CommitProbe() {
    finish();
}

std::vector<base::Duration> CommitProbe::finish() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
    return commits_;
}

void CommitProbe::run() {
    const auto sql = internal::open_sql_session(target_.url());
    if (!sql)
        return;
    std::unique_lock lock(mutex_);
    while (!clock_.wait_until(lock, changed_, clock_.steady_now() + probe_every,
                              [this] { return stopped_; })) {
        lock.unlock();
        const base::SteadyTime before = clock_.steady_now();
        const base::Status inserted = (*sql)->run("insert into bench_commit values (1)");
        if (inserted)
            commits_.push_back(clock_.steady_now() - before);
        lock.lock();
    }
    (void)(*sql)->run(drop_table);
}

} // namespace deadman::bench
