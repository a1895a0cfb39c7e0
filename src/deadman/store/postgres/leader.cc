#include "deadman/store/postgres/internal/leader.h"

#include <utility>

#include "deadman/base/random.h"
#include "deadman/store/postgres/internal/failure.h"
#include "deadman/store/postgres/internal/store.h"

namespace deadman::store::postgres {
namespace {

const Statement may_lead{"may_lead", "select coalesce(deadman.may_lead(), true)"};
const Statement try_lock{"try_lock", "select pg_try_advisory_lock(5918, 0)"};
const Statement take{"take_leadership",
                     "select coalesce(deadman.take_leadership($1, $2, $3), false)"};
const Statement keep_row{"keep_leadership",
                         "select coalesce(deadman.keep_leadership($1, $2, $3), false)"};
const Statement give_up{"give_up_leadership", "select deadman.give_up_leadership($1)"};
const Statement observe_tick{"observe_tick", "select * from deadman.observe_tick($1, $2, $3, $4)"};
const Statement reap_sessions{"reap_sessions", "select cardinality(deadman.reap_sessions($1, $2))",
                              Pace::slow};
const Statement reap_leases{"reap_leases", "select * from deadman.reap_leases($1, $2)", Pace::slow};
const Statement close_sessions{"close_sessions", "select deadman.close_sessions()", Pace::slow};
const Statement promote_due{"promote_due", "select deadman.promote_due($1)", Pace::slow};
const Statement sweep_behind{"sweep_behind", "select deadman.sweep_behind($1)", Pace::slow};
const Statement forget_keys{"forget_keys", "select deadman.forget_keys($1)", Pace::slow};

// Longer than a sweep, so that a leader on time keeps it; short, so that a stopped one is replaced
// soon.
base::Duration leader_life(base::Duration sweep) {
    return sweep + sweep / 2;
}

std::string new_name() {
    const std::string hex = base::random_hex(16);
    return hex.substr(0, 8) + '-' + hex.substr(8, 4) + '-' + hex.substr(12, 4) + '-' +
           hex.substr(16, 4) + '-' + hex.substr(20);
}

} // namespace

Leader::Leader(Store& store, std::string name)
    : store_(store), name_(std::move(name)), retention_(store) {}

Leader::~Leader() {
    connection_.reset(); // the lock first: nobody is kept out by a row that says we hold it
    (void)store_.query(give_up, {name_}, Sent::reading);
}

base::Result<std::unique_ptr<Leadership>> Leader::try_lead(Store& store) {
    std::unique_ptr<Leadership> nobody;
    DEADMAN_TRY(const pqxx::result may, store.query(may_lead, {}, Sent::reading));
    if (!may[0][0].as<bool>())
        return nobody;
    std::unique_ptr<Leader> leader(new Leader(store, new_name()));
    leader->ensure_lock();
    DEADMAN_TRY(const pqxx::result taken,
                store.query(take,
                            {leader->name_, leader->has_lock_,
                             leader_life(domain::LeaseTerms{}.sweep).count()},
                            Sent::reading));
    if (taken.empty() || !taken[0][0].as<bool>())
        return nobody;
    return std::unique_ptr<Leadership>(std::move(leader));
}

void Leader::ensure_lock() {
    try {
        if (connection_ && !connection_->is_alive())
            connection_.reset();
        if (!connection_) {
            has_lock_ = false;
            connection_ = std::make_unique<Connection>(store_.settings());
        }
        connection_->prepare_for_use();
        if (!has_lock_ && !store_.settings().through_pooler)
            has_lock_ = connection_->query(try_lock, {})[0][0].as<bool>();
    } catch (const std::exception&) {
        connection_.reset(); // the row alone then says who leads
        has_lock_ = false;
    }
}

base::Result<bool> Leader::keep(base::Duration sweep) {
    ensure_lock();
    DEADMAN_TRY(
        const pqxx::result kept,
        store_.query(keep_row, {name_, has_lock_, leader_life(sweep).count()}, Sent::reading));
    return !kept.empty() && kept[0][0].as<bool>();
}

base::Result<UpkeepReport> Leader::sweep(const UpkeepRequest& request) {
    UpkeepReport report;
    DEADMAN_TRY(report.still_leader, keep(request.terms.sweep));
    if (!report.still_leader) {
        connection_.reset();
        has_lock_ = false;
        return report;
    }
    DEADMAN_TRY_STATUS(tick(request, report));
    DEADMAN_TRY_STATUS(reap(request, report));
    DEADMAN_TRY_STATUS(move_jobs(request, report));
    DEADMAN_TRY_STATUS(prune(request, report));
    return report;
}

base::Status Leader::tick(const UpkeepRequest& request, UpkeepReport& report) {
    std::optional<std::int64_t> previous;
    std::optional<std::int64_t> passed;
    const base::SteadyTime steady = store_.steady_now();
    if (last_tick_) {
        previous = last_tick_->at_us;
        passed = (steady - last_tick_->steady).count();
    }
    DEADMAN_TRY(const pqxx::result seen,
                store_.query(observe_tick,
                             {domain::outage_gap(request.terms).count(),
                              request.terms.lease.count(), previous, passed},
                             Sent::reading));
    last_tick_ = Tick{seen[0][0].as<std::int64_t>(), steady};
    report.grace = seen[0][1].as<bool>();
    return {};
}

base::Status Leader::reap(const UpkeepRequest& request, UpkeepReport& report) {
    DEADMAN_TRY(const pqxx::result marked, store_.query(reap_sessions,
                                                        {domain::outage_gap(request.terms).count(),
                                                         request.terms.hint_grace.count()},
                                                        Sent::reading));
    report.sessions_lapsed = marked[0][0].as<std::int64_t>();
    DEADMAN_TRY(const pqxx::result returned,
                store_.query(reap_leases,
                             {request.crash.max_crashes, request.crash.first_delay.count()},
                             Sent::reading));
    report.runs_returned = returned[0][0].as<std::int64_t>();
    report.quarantined = returned[0][1].as<std::int64_t>();
    DEADMAN_TRY_STATUS(store_.query(close_sessions, {}, Sent::reading));
    return {};
}

base::Status Leader::move_jobs(const UpkeepRequest& request, UpkeepReport& report) {
    DEADMAN_TRY(const pqxx::result promoted,
                store_.query(promote_due, {request.batch}, Sent::reading));
    report.promoted = promoted[0][0].as<std::int64_t>();
    DEADMAN_TRY(const pqxx::result swept,
                store_.query(sweep_behind, {request.batch}, Sent::reading));
    report.swept = swept[0][0].as<std::int64_t>();
    return {};
}

base::Status Leader::prune(const UpkeepRequest& request, UpkeepReport& report) {
    DEADMAN_TRY_STATUS(store_.query(forget_keys, {request.batch}, Sent::reading));
    return retention_.run(request, report);
}

} // namespace deadman::store::postgres
