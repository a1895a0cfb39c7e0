#include "deadman/store/sqlite/internal/effects.h"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "deadman/store/sqlite/internal/ends.h"

namespace deadman::store::sqlite {

using base::ErrorCode;

/// One effect transaction. Its statements run on the handler's thread; past the bound another
/// thread may roll it back between two of them.
class BoundedTransaction final : public EffectTransaction {
  public:
    BoundedTransaction(Connection& connection, base::Clock& clock, base::Duration bound)
        : connection_(connection), clock_(clock), bound_(bound) {}

    ~BoundedTransaction() override {
        const std::lock_guard lock(mutex_);
        connection_.restrict_statements(false);
        connection_.set_interrupt({});
        connection_.roll_back();
    }

    /// Takes the write lock; the bound runs from then on.
    base::Result<LeaseRow> begin(const SessionKey& session, const RunKey& run);

    base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                              std::span<const SqlValue> parameters) override;

    /// Ends the run in the same transaction and commits.
    base::Status finish(const LeaseRow& lease, std::string_view result_json);

    void cancel() override {
        is_cancelled_ = true; // seen by the statement under way within a moment
    }

    void end_if_overdue() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        // A statement under way is interrupted by its own thread.
        if (!lock.owns_lock() || !is_begun_ || !is_overdue())
            return;
        connection_.restrict_statements(false);
        connection_.set_interrupt({});
        connection_.roll_back();
    }

  private:
    bool is_overdue() const {
        return clock_.steady_now() > deadline_;
    }

    base::Error overdue_error() const {
        return base::fail(ErrorCode::conflict, // the handler's to mend, no want of the store's
                          "the effect transaction was rolled back: it held the database's only "
                          "write lock longer than its bound; do the work first and open it only "
                          "to write");
    }

    base::Error fail_with(base::Error error) {
        if (!failure_)
            failure_ = error;
        return error;
    }

    base::Status check_usable();

    std::mutex mutex_;
    Connection& connection_;
    base::Clock& clock_;
    const base::Duration bound_;
    base::SteadyTime deadline_{};
    bool is_begun_ = false;
    std::atomic<bool> is_cancelled_ = false;
    std::optional<base::Error> failure_;
};

base::Result<LeaseRow> BoundedTransaction::begin(const SessionKey& session, const RunKey& run) {
    const std::lock_guard lock(mutex_);
    try {
        connection_.run("BEGIN IMMEDIATE");
        deadline_ = clock_.steady_now() + bound_;
        is_begun_ = true;
        DEADMAN_TRY(LeaseRow lease, check_run(connection_, session, run));
        connection_.set_interrupt([this] { return is_cancelled_ || is_overdue(); });
        connection_.restrict_statements(true);
        return lease;
    } catch (const SqliteFailure& failure) {
        return translate_sqlite(failure, Moment::statement);
    }
}

base::Status BoundedTransaction::check_usable() {
    if (failure_)
        return *failure_;
    if (is_cancelled_)
        return fail_with(base::fail(ErrorCode::cancelled, "the run was stopped"));
    if (is_overdue())
        return fail_with(overdue_error());
    // A conflict clause of the body's own, or a full disk, may have ended it.
    if (!connection_.in_transaction())
        return fail_with(base::fail(ErrorCode::conflict, "the transaction was rolled back"));
    return {};
}

base::Result<std::vector<SqlRow>>
BoundedTransaction::execute(std::string_view sql, std::span<const SqlValue> parameters) {
    const std::lock_guard lock(mutex_);
    DEADMAN_TRY_STATUS(check_usable());
    try {
        Cursor cursor = connection_.prepare(sql, false);
        if (static_cast<std::size_t>(cursor.parameters()) != parameters.size())
            return fail_with(base::fail(ErrorCode::invalid_argument,
                                        "the statement has " + std::to_string(cursor.parameters()) +
                                            " parameters and was given " +
                                            std::to_string(parameters.size())));
        for (std::size_t i = 0; i < parameters.size(); ++i)
            cursor.bind_value(static_cast<int>(i) + 1, parameters[i]);
        std::vector<SqlRow> rows;
        while (cursor.next()) {
            SqlRow row;
            for (int column = 0; column < cursor.columns(); ++column)
                row.push_back(cursor.value(column));
            rows.push_back(std::move(row));
        }
        return rows;
    } catch (const SqliteFailure& failure) {
        return fail_with(is_overdue() ? overdue_error()
                                      : translate_sqlite(failure, Moment::statement));
    }
}

base::Status BoundedTransaction::finish(const LeaseRow& lease, std::string_view result_json) {
    const std::lock_guard lock(mutex_);
    DEADMAN_TRY_STATUS(check_usable());
    connection_.restrict_statements(false);
    connection_.set_interrupt({});
    Moment moment = Moment::statement;
    try {
        WriteContext context{connection_, clock_.now(), clock_.steady_now()};
        domain::Answer answer;
        answer.result = result_json;
        apply_answer(context, lease, answer);
        moment = Moment::commit;
        connection_.run("COMMIT");
        return {};
    } catch (const SqliteFailure& failure) {
        return translate_sqlite(failure, moment);
    }
}

/// Keeps a transaction on the list that end_overdue() goes through.
class Effects::Watch {
  public:
    Watch(Effects& effects, BoundedTransaction& transaction)
        : effects_(effects), transaction_(transaction) {
        const std::lock_guard lock(effects_.mutex_);
        effects_.open_.insert(&transaction_);
    }

    ~Watch() {
        const std::lock_guard lock(effects_.mutex_);
        effects_.open_.erase(&transaction_);
    }

    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    Effects& effects_;
    BoundedTransaction& transaction_;
};

Effects::Effects(ConnectionOptions options, FileWatch& watch, base::Clock& clock,
                 base::Duration bound)
    : options_(std::move(options)), watch_(watch), clock_(clock), bound_(bound) {}

Effects::~Effects() = default;

base::Status Effects::transact(const SessionKey& session, const RunKey& run,
                               std::string_view result_json, const EffectBody& body) {
    DEADMAN_TRY(auto connection, take());
    base::Status status;
    {
        BoundedTransaction transaction(*connection, clock_, bound_);
        DEADMAN_TRY(const LeaseRow lease, transaction.begin(session, run));
        const Watch watch(*this, transaction);
        if (on_begin_)
            on_begin_();
        status = body(transaction);
        if (status)
            status = watch_.check();
        if (status)
            status = transaction.finish(lease, result_json);
    }
    give_back(std::move(connection));
    return status;
}

void Effects::end_overdue() {
    const std::lock_guard lock(mutex_);
    for (BoundedTransaction* transaction : open_)
        transaction->end_if_overdue();
}

bool Effects::has_open() {
    const std::lock_guard lock(mutex_);
    return !open_.empty();
}

base::Result<std::unique_ptr<Connection>> Effects::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            std::unique_ptr<Connection> connection = std::move(idle_.back());
            idle_.pop_back();
            return connection;
        }
    }
    return watch_.open(options_);
}

void Effects::give_back(std::unique_ptr<Connection> connection) {
    constexpr std::size_t most_idle = 16;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < most_idle)
        idle_.push_back(std::move(connection));
}

} // namespace deadman::store::sqlite
