#pragma once
// Effects: the transaction that transact() hands to a handler, over an open transaction of the
// driver.

#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <pqxx/pqxx>

#include "deadman/store/effect_transaction.h"
#include "deadman/store/postgres/internal/call_watch.h"

namespace deadman::store::postgres {

class Effects final : public EffectTransaction {
  public:
    using EffectTransaction::execute;

    /// Asks the server, over another connection, to cancel what this one does.
    using CancelStatement = std::function<void()>;

    Effects(pqxx::transaction_base& work, CallWatch::Guard& watched, base::Duration patience,
            CancelStatement cancel_statement)
        : work_(work), watched_(watched), patience_(patience),
          cancel_statement_(std::move(cancel_statement)) {}

    /// Waits for a cancel under way: it must not meet the connection's next statement.
    ~Effects() override;

    base::Result<std::vector<SqlRow>> execute(std::string_view sql,
                                              std::span<const SqlValue> parameters) override;

    void cancel() override;

    /// Whether it was asked for. The connection is then of no more use: the server may be told
    /// late.
    bool is_cancelled();

    /// Runs the body. What a statement failed with counts, and a cancel, whatever the body says.
    base::Status run(const EffectBody& body);

  private:
    bool begin_statement();
    void end_statement();

    pqxx::transaction_base& work_;
    CallWatch::Guard& watched_; // runs during statements alone: handlers take their time
    const base::Duration patience_;
    std::optional<base::Error> first_error_; // of a statement; nothing after it counts
    const CancelStatement cancel_statement_;
    std::mutex mutex_;
    bool cancelled_ = false; // guarded by mutex_, as all below
    bool in_statement_ = false;
    std::thread canceller_;
};

} // namespace deadman::store::postgres
