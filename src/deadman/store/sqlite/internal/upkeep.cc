#include "deadman/store/sqlite/internal/upkeep.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "deadman/base/random.h"
#include "deadman/store/sqlite/internal/reaper.h"

namespace deadman::store::sqlite {
namespace {

// One sweep ends in bounded time: what is left over waits for the next.
constexpr int most_batches = 20;

base::Duration leader_life(const domain::LeaseTerms& terms) {
    return terms.sweep + terms.sweep / 2;
}

void write_leader(WriteContext& context, const std::string& holder,
                  const domain::LeaseTerms& terms) {
    context.db.run("INSERT OR REPLACE INTO deadman_leader (only, holder, boot, until_steady) "
                   "VALUES (1, ?1, ?2, ?3)",
                   holder, platform::boot_id(),
                   (context.steady + leader_life(terms)).time_since_epoch().count());
}

struct LeaderRow {
    std::string holder;
    bool is_current = false; // of this boot, and not past its expiry
};

LeaderRow read_leader(Connection& db, base::SteadyTime steady) {
    Cursor row = db.query("SELECT holder, boot, until_steady FROM deadman_leader");
    if (!row.next())
        return {};
    return {row.text(0), row.text(1) == platform::boot_id() &&
                             steady.time_since_epoch().count() < row.integer(2)};
}

/// Sessions whose process is seen to be dead, with their locks: nobody else can hold them
/// meanwhile.
struct DeadSessions {
    std::vector<domain::SessionId> ids;
    std::vector<platform::FileLock> locks;
};

base::Result<DeadSessions> find_dead(const UpkeepTools& tools) {
    using Ids = std::vector<domain::SessionId>;
    DEADMAN_TRY(const Ids live, tools.readers.read<Ids>([](Connection& db) -> base::Result<Ids> {
        Ids ids;
        Cursor row = db.query("SELECT id FROM deadman_session WHERE state = 'live' AND boot = ?1",
                              platform::boot_id());
        while (row.next())
            ids.push_back(domain::SessionId{row.integer(0)});
        return ids;
    }));
    DeadSessions dead;
    for (const domain::SessionId id : live) {
        if (auto lock = tools.locks.take_if_dead(id)) {
            dead.ids.push_back(id);
            dead.locks.push_back(std::move(*lock));
        }
    }
    return dead;
}

class SqliteLeadership final : public Leadership {
  public:
    SqliteLeadership(UpkeepTools tools, std::string holder, std::optional<platform::FileLock> lock)
        : tools_(std::move(tools)), holder_(std::move(holder)), lock_(std::move(lock)) {}

    ~SqliteLeadership() override {
        // So that a successor without the lock need not wait for the expiry.
        static_cast<void>(tools_.writer.write<bool>([this](WriteContext& context) {
            context.db.run("DELETE FROM deadman_leader WHERE holder = ?1", holder_);
            return base::Result<bool>(true);
        }));
    }

    base::Result<UpkeepReport> sweep(const UpkeepRequest& request) override;

  private:
    using Step = std::function<bool(WriteContext&, UpkeepReport&)>;

    base::Status reap(const UpkeepRequest& request, UpkeepReport& report);
    void reap_within(WriteContext& context, const UpkeepRequest& request,
                     const std::vector<domain::SessionId>& dead, base::SteadyTime asked_at,
                     UpkeepReport& report) const;
    base::Result<bool> has_work(const UpkeepRequest& request);
    base::Status repeat(UpkeepReport& report, const Step& step);

    UpkeepTools tools_;
    std::string holder_;
    std::optional<platform::FileLock> lock_;
};

base::Result<UpkeepReport> SqliteLeadership::sweep(const UpkeepRequest& request) {
    UpkeepReport report;
    DEADMAN_TRY_STATUS(reap(request, report));
    if (!report.still_leader)
        return report;
    DEADMAN_TRY(const bool is_needed, has_work(request));
    if (!is_needed)
        return report;
    DEADMAN_TRY_STATUS(repeat(report, [&](WriteContext& context, UpkeepReport& step) {
        return return_runs(context, request, step);
    }));
    DEADMAN_TRY_STATUS(repeat(report, [&](WriteContext& context, UpkeepReport& step) {
        return promote_due(context, request.batch, step);
    }));
    DEADMAN_TRY_STATUS(repeat(report, [&](WriteContext& context, UpkeepReport& step) {
        return prune(context, request, step);
    }));
    return report;
}

// The first transaction: the tick and what it allows are one, so that a leader that was stopped
// between them cannot reap by an old tick.
base::Status SqliteLeadership::reap(const UpkeepRequest& request, UpkeepReport& report) {
    DEADMAN_TRY(DeadSessions dead, find_dead(tools_));
    const base::SteadyTime asked_at = tools_.clock.steady_now();
    DEADMAN_TRY(report, tools_.writer.write<UpkeepReport>(
                            [&](WriteContext& context) -> base::Result<UpkeepReport> {
                                UpkeepReport step;
                                reap_within(context, request, dead.ids, asked_at, step);
                                return step;
                            }));
    for (platform::FileLock& lock : dead.locks)
        if (report.still_leader)
            lock.remove_and_release();
    return {};
}

void SqliteLeadership::reap_within(WriteContext& context, const UpkeepRequest& request,
                                   const std::vector<domain::SessionId>& dead,
                                   base::SteadyTime asked_at, UpkeepReport& report) const {
    const LeaderRow leader = read_leader(context.db, context.steady);
    report.still_leader = leader.holder == holder_ || (lock_ && !leader.is_current);
    if (!report.still_leader)
        return;
    write_leader(context, holder_, request.terms);
    const Grace grace = tick(context, request.terms, context.steady - asked_at);
    report.grace = grace.is_on;
    mark_lapsed(context, grace, dead, report);
    const bool has_more = return_runs(context, request, report);
    static_cast<void>(has_more); // the next step goes on
}

// Read first: an idle system pays for one small commit per sweep, not four.
base::Result<bool> SqliteLeadership::has_work(const UpkeepRequest& request) {
    return tools_.readers.read<bool>([&](Connection& db) -> base::Result<bool> {
        const base::TimePoint now = tools_.clock.now();
        Cursor row = db.query(
            "SELECT EXISTS (SELECT 1 FROM deadman_session WHERE state = 'lapsed') OR "
            "EXISTS (SELECT 1 FROM deadman_later WHERE due <= ?1) OR "
            "EXISTS (SELECT 1 FROM deadman_done WHERE finished_at <= ?2) OR "
            "EXISTS (SELECT 1 FROM deadman_idempotency_key WHERE used_at <= ?3) OR "
            "EXISTS (SELECT 1 FROM deadman_session WHERE state = 'ended' AND ended_at <= ?4)",
            base::to_micros(now), base::to_micros(now - request.retention),
            base::to_micros(now - domain::idempotency_key_life),
            base::to_micros(now - request.retention - std::chrono::hours(24)));
        return row.next() && row.flag(0);
    });
}

base::Status SqliteLeadership::repeat(UpkeepReport& report, const Step& step) {
    for (int batch = 0; batch < most_batches; ++batch) {
        // Into a copy: a transaction that fails must not be reported.
        UpkeepReport after = report;
        DEADMAN_TRY(const bool has_more,
                    tools_.writer.write<bool>([&](WriteContext& context) -> base::Result<bool> {
                        return step(context, after);
                    }));
        report = after;
        if (!has_more)
            break;
    }
    return {};
}

bool is_abandoned(const LeaderRow& row) {
    return !row.holder.empty() && !row.is_current;
}

// Contenders ask every sweep: they must not take the write lock to be told no.
base::Result<bool> looks_abandoned(const UpkeepTools& tools) {
    return tools.readers.read<bool>([&](Connection& db) -> base::Result<bool> {
        return is_abandoned(read_leader(db, tools.clock.steady_now()));
    });
}

// Whoever holds the lock leads at once; another only where the holder's row is past its expiry.
base::Result<bool> become_leader(const UpkeepTools& tools, const std::string& holder,
                                 bool has_lock) {
    return tools.writer.write<bool>([&](WriteContext& context) -> base::Result<bool> {
        if (!has_lock && !is_abandoned(read_leader(context.db, context.steady)))
            return false;
        write_leader(context, holder, {});
        return true;
    });
}

} // namespace

base::Result<std::unique_ptr<Leadership>> try_lead(const UpkeepTools& tools) {
    DEADMAN_TRY(auto lock, platform::FileLock::try_acquire(tools.database_path + ".leader"));
    if (!lock) {
        DEADMAN_TRY(const bool is_worth_trying, looks_abandoned(tools));
        if (!is_worth_trying)
            return std::unique_ptr<Leadership>();
    }
    const std::string holder = base::random_hex(8);
    DEADMAN_TRY(const bool is_leader, become_leader(tools, holder, lock.has_value()));
    if (!is_leader)
        return std::unique_ptr<Leadership>();
    return std::unique_ptr<Leadership>(
        std::make_unique<SqliteLeadership>(tools, holder, std::move(lock)));
}

} // namespace deadman::store::sqlite
